"""The cycle model in C++ against that in Python: every cycle of every instruction is equal."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from compiler.zoo.networks import networks
from isa.config import MachineConfig, preset
from sim.cycle import model
from sim.cycle.control import Executed, cycles_until_done, executed
from sim.cycle.model import CycleModel
from sim.cycle.native import engine
from sim.cycle.native.engine import NativeExecution, native_execution
from sim.cycle.native.layout import COST, MACHINE, MODULES, WINDOW, cost_numbers, fits, header, machine_numbers
from sim.cycle.program import CycleError, Program, from_ops, from_words
from sim.cycle.walks import WindowWalk
from sim.native.library import Library
from sim.random.configs import random_config
from sim.random.program import random_program
from tests.sim.cycle.cycle_programs import EXACT, NANO, conv, load, misc, save
from tests.tools import needs_cxx
from tilewright.compiling import compile_model


def native(config: MachineConfig) -> NativeExecution:
    engine.LIBRARY.built()
    found = native_execution(config)
    assert isinstance(found, NativeExecution)
    return found


@needs_cxx
@pytest.mark.parametrize("name", EXACT)
def test_directed_programs(name: str) -> None:
    program = from_ops(NANO, EXACT[name])
    assert native(NANO)(program) == executed(NANO, program)


@needs_cxx
@pytest.mark.parametrize("name", EXACT)
def test_directed_programs_on_two_ports(name: str) -> None:
    config = replace(NANO, axi_ports=2)
    program = from_ops(config, EXACT[name])
    assert native(config)(program) == executed(config, program)


@needs_cxx
@pytest.mark.parametrize(("seed", "size"), [*((seed, 12) for seed in range(20)), *((seed, 60) for seed in range(20, 40))])
def test_random_programs_on_random_machines(seed: int, size: int) -> None:
    config = random_config(seed)
    program = from_words(config, random_program(config, seed, size=size).words)
    assert native(config)(program) == executed(config, program)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Whatever is timed runs on both; how many instructions each program had."""
    sizes: list[int] = []

    def compared(self: CycleModel, program: Program) -> Executed:
        found = native(self.config)(program)
        assert found == executed(self.config, program)
        sizes.append(len(program.units))
        return found

    monkeypatch.setattr(model.CycleModel, "_executed", compared)
    # A second process would compare out of sight.
    monkeypatch.setenv("TILEWRIGHT_CORES", "1")
    return sizes


@needs_cxx
@pytest.mark.filterwarnings("ignore:no calibration data")
@pytest.mark.parametrize(("name", "size", "config"), [("squeezenet", 64, "base"), ("mobilenet_v2", 64, "zu9")])
def test_all_programs_that_are_timed_for_a_network(name: str, size: int, config: str, both: list[int]) -> None:
    compile_model(networks()[name](size=size), config, cache=False)
    assert sum(both) > 500


@needs_cxx
def test_costs_are_told_once_and_anew_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    execution = native(NANO)
    program = from_ops(NANO, [load(), conv(), conv(o_addr=1024), load()])
    for _ in range(2):
        assert execution(program) == executed(NANO, program)
    assert len(execution._walks) == 4  # of nothing, of LOAD, and of two CONVs
    monkeypatch.setattr(engine, "MOST_COSTS", 3)
    other = from_ops(NANO, [misc(), conv()])
    assert execution(other) == executed(NANO, other)
    assert len(execution._walks) == 3


@needs_cxx
def test_a_walk_that_fails_ends_the_program_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an interrupt or want of memory while masks are made."""
    execution, program = native(NANO), from_ops(NANO, [save(), conv()])
    with monkeypatch.context() as patched:
        patched.setattr(WindowWalk, "masks", _no_room)
        with pytest.raises(MemoryError, match="no room for masks"):
            execution(program)
    assert execution(program) == executed(NANO, program)


def _no_room(walk: WindowWalk) -> np.ndarray:
    raise MemoryError("no room for masks")


@needs_cxx
def test_threads_may_ask_at_once() -> None:
    """What one of them adds to the table, or is done with, the library may be looking at for another."""
    config = preset("base")
    programs = [from_words(config, random_program(config, seed, size=40).words) for seed in range(24)]
    expected = [executed(config, program) for program in programs]
    execution = native(config)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(execution, programs * 2)) == expected * 2


@needs_cxx
def test_a_program_that_never_finishes_is_told_by_both() -> None:
    """Two that wait for each other; the model's reader of programs makes none such."""
    program = from_ops(NANO, [load(), conv()])
    tied = replace(program, givers=[(), (2,), (1,), ()])
    for finishes in (native(NANO)(tied).finishes, executed(NANO, tied).finishes):
        with pytest.raises(CycleError, match="instruction at word 2 never finishes; the program is not sequential"):
            cycles_until_done(tied, finishes)


def test_a_machine_of_many_bank_groups_is_left_to_python() -> None:
    many = replace(NANO, name="many", fm_banks=192, fm_depth=64)
    assert many.fm_words // (many.fm_phases * many.fm_depth) >= 64
    assert not fits(many)
    assert native_execution(many) is None
    assert all(fits(preset(name)) for name in ("nano", "base", "zu2", "zu9"))


def test_the_layout_has_every_latency_and_as_many_numbers_as_are_told() -> None:
    text = header()
    for module in MODULES:
        own = text.partition(f"namespace {module.__name__.rpartition('.')[2]} {{")[2].partition("}")[0]
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, int):
                assert f" {name} = {value};" in own
    assert len(machine_numbers(NANO)) == len(MACHINE) + 2 * len(WINDOW)
    costs = from_ops(NANO, [load(), conv(), misc()]).costs
    assert [len(cost_numbers(cost)) for cost in costs] == [len(COST)] * 5
    assert cost_numbers(costs[0]) == [0] * len(COST)


def test_without_the_library_python_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    words = random_program(NANO, 3).words
    found = CycleModel(NANO).run(words)
    monkeypatch.setattr(Library, "loaded", lambda _: None)
    assert native_execution(NANO) is None
    assert CycleModel(NANO).run(words) == found == CycleModel(NANO, native=False).run(words)
