"""The driver on the generated Verilog: every output bit is the functional simulator's, and nothing that stops it stays.

Processor and machine see DRAM through a cache that only the driver's own maintenance keeps right (``c/harness.c``). All of
it is slow, for no other test runs this simulator; the driver on a mock of the registers is quick.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.quantise.arrays import read_arrays
from isa.assembler import assemble
from isa.faults import Fault, MachineFault
from isa.flat_image import flat_image
from isa.program import MachineStep, Program
from isa.program_file import program_bytes
from sim.rtl.board import board_library
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run
from tests.compiler.frontend.quantised_models import model, node, weights
from tests.driver.building import DEMO, HERE, NANO, build, digits, run
from tests.driver.recording import recorded
from tests.e2e.light import LIGHT
from tests.e2e.network_runs import compiled
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

Arrays = dict[str, NDArray[Any]]
WAYS = ["irq", "double", "poll", "place"]
ABORTS = 100
FAULTY = {
    Fault.ILLEGAL_OPCODE: "START config=CONFIG\n.word 0x1ff\nEND",
    Fault.ILLEGAL_FIELD: "START config=CONFIG\nLOADP count=0\nEND",
    Fault.CONFIG_MISMATCH: "START config=1\nEND",
    Fault.FM_ADDRESS: "START config=CONFIG\nLOAD rows=1 pixels=4 run=4 step=4 valid=16 region=INPUT d_xs=1 d_addr=4000\nEND",
    Fault.BUFFER_ADDRESS: "START config=CONFIG\nLOADP count=2 dst=0xffff\nEND",
    Fault.WATCHDOG: "START config=CONFIG\nLOADP wait=CONV count=1\nEND",
    Fault.PROGRAM_END: "START config=CONFIG\nLOADP count=1",
    Fault.REGION_LIMIT: "START config=CONFIG\nLOAD rows=1 pixels=4 run=4 step=4 valid=16 region=INPUT d_xs=1 offset=64\nEND",
}


def test_no_fault_is_left_out() -> None:
    """Those that no program can ask for are made by ``c/stops.c``: by memory that answers with errors, late or not at all."""
    made = {Fault[name] for name in re.findall(r"TW_FAULT_(\w+)", (HERE / "stops.c").read_text(encoding="utf-8"))}
    assert made | set(FAULTY) == set(Fault) - {Fault.NONE}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    library = board_library(NANO)
    sources = {"infer": ["replay"], "stops": []}
    return {
        name: build(tmp_path_factory.mktemp(name), name, *others, libraries=[library, "-lstdc++"])
        for name, others in sources.items()
    }


def expected(program: Program, feeds: list[Arrays]) -> bytes:
    made = [Run(program, FunctionalEngine(program.config))(feed) for feed in feeds]
    return b"".join(outputs[tensor.name].tobytes() for outputs in made for tensor in program.outputs)


def given(program: Program, feeds: list[Arrays]) -> bytes:
    return b"".join(np.ascontiguousarray(feed[tensor.name]).tobytes() for feed in feeds for tensor in program.inputs)


def same(
    infer: Path, folder: Path, program: Program, feeds: list[Arrays], way: str, *more: object, flat: bool = False
) -> None:
    (folder / "image").write_bytes(flat_image(program) if flat else program_bytes(program))
    (folder / "inputs").write_bytes(given(program, feeds))
    printed = run(infer, folder / "image", folder / "inputs", folder / "outputs", way, *more)
    assert printed.startswith(f"{len(feeds)} inferences")
    assert (folder / "outputs").read_bytes() == expected(program, feeds)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flat", [False, True], ids=["file", "flat"])
def test_digits(way: str, flat: bool, programs: dict[str, Path], tmp_path: Path) -> None:
    with np.load(DEMO / "digits_test.npz") as archive:
        feeds = [{"image": image[None]} for image in archive["image"][:5]]
    stalls = ("+stall_seed=5",) if flat else ()
    same(programs["infer"], tmp_path, digits(), feeds, way, *stalls, flat=flat)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), list(zip(LIGHT, itertools.cycle(WAYS), strict=False)))
def test_light_network(name: str, way: str, programs: dict[str, Path], tmp_path: Path) -> None:
    """Those that every suite runs on the RTL of the smallest machine; what parts on the processor are given is compared too."""
    program = compiled(LIGHT[name](), "nano").program
    feeds = [random_inputs(program, seed) for seed in range(2)]
    (tmp_path / "parts").write_bytes(recorded(program, feeds))
    same(programs["infer"], tmp_path, program, feeds, way, tmp_path / "parts", flat=way == "place")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["irq", "double", "place"])
def test_a_part_on_the_processor(way: str, programs: dict[str, Path], tmp_path: Path) -> None:
    """Two machine steps; between them sums in float, which the caller's function computes."""
    table: dict[str, NDArray[Any]] = {"w": weights(5, 3, 3, 3), "v": weights(4, 5, 3, 3), "axis": np.array(3, np.int64)}
    nodes = [node("Conv", "x w", "a"), node("CumSum", "a axis", "b"), node("Conv", "b v")]
    program = compiled(model(nodes, (1, 3, 6, 10), table), "nano").program
    assert sum(isinstance(step, MachineStep) for step in program.steps) == 2
    feeds = [random_inputs(program, seed) for seed in range(3)]
    same(programs["infer"], tmp_path, program, feeds, way, "a_quantized", "b_quantized", flat=way == "place")


@pytest.mark.slow
def test_whatever_stops_it_the_next_run_is_right(programs: dict[str, Path], tmp_path: Path) -> None:
    """Every fault with its instruction, aborts and resets at random cycles, time-outs, starts out of turn, addresses between
    beats, another configuration."""
    program = digits()
    with np.load(DEMO / "digits_test.npz") as archive:
        feeds = [{"image": archive["image"][:1]}]
    for name, content in {
        "image": program_bytes(program), "inputs": given(program, feeds), "expected": expected(program, feeds),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
    faults: list[object] = []
    for fault, text in FAULTY.items():
        words = tuple(assemble(text, config=NANO, check_rules=False))
        wrong = Program(NANO, words, bytes(64), work_bytes=64, input_bytes=64, output_bytes=64)
        with pytest.raises(MachineFault) as found:
            Run(wrong, FunctionalEngine(NANO))({})
        assert found.value.fault is fault
        (tmp_path / fault.name).write_bytes(program_bytes(wrong))
        faults += [tmp_path / fault.name, fault.value, found.value.pc]
    files = [tmp_path / name for name in ("image", "inputs", "expected")]
    assert run(programs["stops"], *files, ABORTS, 1, *faults) == "all as expected\n"


@pytest.mark.slow
def test_a_batch_on_two_machines(tmp_path: Path) -> None:
    """A handle for each machine; five images are no whole number of pairs."""
    cores = build(tmp_path, "cores", libraries=[board_library(NANO, cores=2), "-lstdc++"])
    with np.load(DEMO / "digits_test.npz") as archive:
        feeds = [{"image": image[None]} for image in archive["image"][:5]]
    program = digits()
    (tmp_path / "image").write_bytes(program_bytes(program))
    (tmp_path / "inputs").write_bytes(given(program, feeds))
    printed = run(cores, tmp_path / "image", tmp_path / "inputs", tmp_path / "outputs", 2, f"+total={NANO.axi_bytes}")
    assert printed.endswith(": 3 2\n"), printed
    assert (tmp_path / "outputs").read_bytes() == expected(program, feeds)


@pytest.mark.slow
def test_two_machines_share_each_image(tmp_path: Path) -> None:
    """Faster than one machine with the same program; after a fault of either the next image is right."""
    anywhere = replace(NANO, chip="")
    calibration = read_arrays(DEMO / "digits_calibration.npz")
    program = compile_model(DEMO / "digits.onnx", anywhere, calibration=calibration, cores=2).program
    together = build(tmp_path, "together", libraries=[board_library(anywhere, cores=2), "-lstdc++"])
    with np.load(DEMO / "digits_test.npz") as archive:
        feeds = [{"image": image[None]} for image in archive["image"][:3]]
    files = [tmp_path / name for name in ("image", "inputs", "outputs", "broken")]
    files[0].write_bytes(program_bytes(program))
    files[1].write_bytes(given(program, feeds))
    took = {}
    for cores, core in ((1, 0), (2, 0), (2, 1)):
        step = next(step for step in program.steps if isinstance(step, MachineStep) and step.core == core)
        at = step.first_word + step.words - 1
        files[3].write_bytes(program_bytes(replace(program, words=(*program.words[:at], 0x1FF, *program.words[at + 1 :]))))
        printed = run(together, *files, cores, f"+total={NANO.axi_bytes}")
        found = re.fullmatch(r"3 images in (\d+) cycles, the broken one stopped at word (\d+)\n", printed)
        assert found is not None, printed
        assert int(found[2]) == at
        assert files[2].read_bytes() == expected(program, feeds)
        took[cores] = int(found[1])
    assert 1.2 < took[1] / took[2] < 2, took
