"""The cycle model on small programs: tokens, queues, in-order units, and agreement with the RTL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, islice

import pytest

from compiler.emit.build import build
from compiler.xgraph.ops import EltwiseKind
from isa.codec import Op
from isa.instructions import Unit
from isa.registers import Counter
from sim.cycle.model import CycleModel
from sim.cycle.program import CycleError
from sim.cycle.timing import MISC_NOTICE
from sim.random.program import random_program
from sim.rtl.machine import RtlMachine, TraceEvent
from tests.compiler.graphs import Builder
from tests.sim.cycle.cycle_programs import EXACT, NANO, conv, load, loadp, misc, pool, save, traced, whole
from tests.tables import in_turn

MODEL = CycleModel(NANO)


def events(ops: Sequence[Op]) -> list[TraceEvent]:
    """In program order."""
    return sorted(MODEL.run(whole(ops)).trace, key=lambda event: event.pc)


def test_an_instruction_starts_a_cycle_after_the_token_was_given() -> None:
    giver, taker = events([load(signal=[Unit.CONV]), conv(wait=[Unit.LOAD])])
    assert giver.finish is not None
    assert taker.start == giver.finish + 1


def test_without_a_token_units_run_side_by_side() -> None:
    first, second = events([conv(), pool()])
    assert first.finish is not None
    assert second.start < first.finish


def test_a_unit_runs_its_beats_without_a_gap() -> None:
    first, second, third = (event.finish for event in events([conv()] * 3))
    assert first is not None
    assert second == first + 2160
    assert third == second + 2160


def test_the_token_wait_is_counted() -> None:
    result = MODEL.run(whole([load(rows=4, signal=[Unit.CONV]), conv(wait=[Unit.LOAD])]))
    _, taker = sorted(result.trace, key=lambda event: event.pc)
    assert 0 < result.counters[Unit.CONV][Counter.WAIT_TOKEN] < taker.start
    assert result.counters[Unit.CONV][Counter.ACTIVE] == 2160


def test_a_full_queue_holds_up_every_unit_behind_it() -> None:
    """Nano's queue holds 64 words: three CONVs of 16 words and their program counters, and not all of a fourth."""
    last = [misc()]
    few, many = events([conv()] * 5 + last), events([conv()] * 9 + last)
    assert few[-1].start < few[0].start + 500
    assert few[0].finish is not None
    assert many[-1].start > few[0].finish


def test_dispatch_takes_a_cycle_more_than_words() -> None:
    """Both receivers are idle, so an instruction of 24 words is offered 25 cycles after the one before it."""
    first, second = events([conv(), misc()])
    assert second.start - first.start == 24 + 1 + MISC_NOTICE


def test_dram_beats_are_exact() -> None:
    result = MODEL.run(whole([load(), loadp(), save()]))
    words = len(whole([load(), loadp(), save()]))
    assert (result.read_beats, result.write_beats) == (32 + 40 + -(-words // 2), 32)


def test_decoded_instructions_take_the_same_time_as_the_binary() -> None:
    ops = [load(signal=[Unit.CONV]), loadp(), conv(wait=[Unit.LOAD], signal=[Unit.SAVE]), save(wait=[Unit.CONV])]
    found = MODEL.run(whole(ops))
    assert MODEL.run_ops(ops) == (found.cycles, found.ends)


def test_a_program_like_one_before_it_takes_as_long_as_on_a_new_model() -> None:
    """Elsewhere in DRAM, elsewhere in a beat of it, or elsewhere on chip: the last two are not alike."""
    model = CycleModel(NANO)
    for offset, row in ((0, 0), (4096, 0), (3, 0), (0, 1), (0, 0)):
        first = load()
        moved = replace(first, values={**first.values, "offset": first["offset"] + offset, "d_addr": first["d_addr"] + row})
        ops = [moved, conv(), save()]
        assert model.run_ops(ops) == CycleModel(NANO).run_ops(ops)


def test_the_answer_is_always_the_same() -> None:
    words = random_program(NANO, 7).words
    assert MODEL.run(words) == CycleModel(NANO).run(words)


def test_a_token_that_nobody_gives_is_an_error() -> None:
    with pytest.raises(CycleError, match="waits for a token from LOAD"):
        MODEL.run(whole([conv(wait=[Unit.LOAD])]))


def test_a_token_without_room_is_an_error() -> None:
    with pytest.raises(CycleError, match="gives one token more to CONV than the 255 that may be on the way"):
        MODEL.run(whole([load(signal=[Unit.CONV])] * 256))


def test_a_program_without_end_is_an_error() -> None:
    with pytest.raises(CycleError, match="no END"):
        MODEL.run(whole([conv()])[:-1])


def test_addresses_beyond_the_buffer_take_no_longer() -> None:
    assert MODEL.run(whole([load(d_addr=65535)])).cycles == MODEL.run(whole([load()])).cycles


def test_an_instruction_that_nobody_waits_for_is_an_error() -> None:
    endless = misc()
    with pytest.raises(CycleError, match="MISC asks for more than 1099511627776 cycles"):
        MODEL.run(whole([Op("MISC", {**endless.values, **{f"n{loop}": 4095 for loop in range(5)}})]))


@pytest.fixture(scope="module")
def rtl() -> RtlMachine:
    return RtlMachine(NANO)


@pytest.mark.parametrize("name", EXACT)
def test_a_unit_that_has_dram_for_itself_is_exact(name: str, rtl: RtlMachine) -> None:
    words = whole(EXACT[name])
    expected = traced(rtl, words)
    found = MODEL.run(words)
    assert found.trace == expected.trace
    assert (found.cycles, found.read_beats, found.write_beats) == (expected.cycles, expected.read_beats, expected.write_beats)


@pytest.mark.parametrize(("name", "latency"), in_turn([*EXACT], [5, 150]))
def test_it_is_exact_whatever_the_latency_of_dram_is(name: str, latency: int) -> None:
    config = replace(NANO, dram_latency=latency)
    words = whole(EXACT[name])
    assert CycleModel(config).run(words).trace == traced(RtlMachine(config), words).trace


@pytest.mark.parametrize("latency", [64, 150, 400])
@pytest.mark.parametrize("words_each", [300, 480])
def test_parameters_wait_for_the_beats_on_the_way(words_each: int, latency: int) -> None:
    """Two beats for each count: more than the machine asks for at a time."""
    config = replace(NANO, dram_latency=latency)
    words = whole([loadp(count=words_each)] * 3)
    assert CycleModel(config).run(words).cycles == traced(RtlMachine(config), words).cycles


@pytest.mark.parametrize("number", range(4))
def test_random_programs_one_instruction_at_a_time_are_within_half_a_percent(number: int, rtl: RtlMachine) -> None:
    programs = (random_program(NANO, seed) for seed in count())
    program = next(islice((program for program in programs if program.order == "serial"), number, None))
    expected = rtl.run(program.words, program.memory, program.bases)
    found = MODEL.run(program.words)
    assert found.cycles == pytest.approx(expected.cycles, rel=0.005)
    assert (found.read_beats, found.write_beats) == (expected.read_beats, expected.write_beats)


def test_a_compiled_group_whose_units_share_banks_is_within_two_percent(rtl: RtlMachine) -> None:
    """A residual block on nano: the addition reads the map that the next rows' convolution reads, from its only bank."""
    builder = Builder(3)
    x = builder.input(20, 19, 8)
    graph = builder.graph(builder.eltwise(EltwiseKind.ADD, x, builder.conv(x, 8)))
    words = build(NANO, graph, [graph.ops]).words
    expected = traced(rtl, words)
    assert expected.counters[Unit.MISC][Counter.WAIT_BANK] > 500
    assert MODEL.run(words).cycles == pytest.approx(expected.cycles, rel=0.02)


SHORT = conv(i_addr=1024, o_addr=1536, k_h=1, k_w=1, vectors=1, chunks=4, o_h=8, o_w=16)


@pytest.mark.parametrize(
    "ops", [[pool(), *[SHORT] * 4], [SHORT, pool(), *[SHORT] * 3], [SHORT, *[pool(k_h=2, k_w=2)] * 2, *[SHORT] * 3]],
    ids=["pool first", "conv first", "windows of four"],
)  # fmt: skip
def test_short_reductions_beside_pooling_wait_for_its_results(ops: list[Op], rtl: RtlMachine) -> None:
    """Nano's finishing lanes are CONV's, who waits while POOL's results go through them: some 480 cycles each time."""
    words = whole(ops)
    expected = traced(rtl, words)
    assert MODEL.run(words).cycles == pytest.approx(expected.cycles, rel=0.005)


NARROW = replace(NANO, name="narrow", axi_data_bits=32)
"""A burst of its fetch holds 16 words: a MISC instruction of 24 begins in one and ends in the next but one."""
FETCHED: dict[str, list[Op]] = {
    **{f"misc behind {n} loads": [*[load()] * n, *[misc()] * 4] for n in range(4)},
    "misc alone": [misc()] * 12,
    "conv": [conv()] * 6,
    "full queues": [*[misc()] * 6, *[conv()] * 6],
}


@pytest.mark.parametrize("name", FETCHED)
def test_instructions_that_lie_in_three_bursts_are_fetched(name: str) -> None:
    words = whole(FETCHED[name], NARROW)
    found = CycleModel(NARROW).run(words)
    data = sum(64 if op.name == "LOAD" else 0 for op in FETCHED[name])
    assert found.read_beats == data + len(words)


@pytest.fixture(scope="module")
def narrow_rtl() -> RtlMachine:
    return RtlMachine(NARROW, brief=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", FETCHED)
def test_fetch_of_three_bursts_takes_the_time_that_it_takes_on_the_rtl(name: str, narrow_rtl: RtlMachine) -> None:
    words = whole(FETCHED[name], NARROW)
    expected = traced(narrow_rtl, words)
    found = CycleModel(NARROW).run(words)
    assert [event.start for event in found.trace] == [event.start for event in expected.trace]
    assert found.cycles == expected.cycles
