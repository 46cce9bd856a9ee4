"""Every way a program can stop the machine: the code, and the instruction that is named."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from isa.capabilities import built_buffers
from isa.codec import Op, encode
from isa.config import MachineConfig, preset
from isa.faults import TOKEN_MAX, Fault, MachineFault
from isa.instructions import MiscMode, PoolMode, Region, Unit
from sim.functional.machine import FunctionalMachine, MemoryImageError
from sim.rtl.limits import moves
from tests.sim.functional.random_ops import BASES, MEMORY_BYTES, program

NANO = preset("nano")
LAST = NANO.fm_words - 1
START_WORDS = 2

WINDOW = {
    "s_y": 1, "s_x": 1, "k_h": 1, "k_w": 1, "i_h": 2, "i_w": 2, "i_ys": 2, "t_ys": 2, "d_y": 1, "d_x": 1, "vectors": 1,
    "o_h": 2, "o_w": 2, "o_xs": 1, "o_ys": 2, "o_addr": 100,
}  # fmt: skip
CONV = Op("CONV", WINDOW | {"chunks": 1})
POOL = Op("POOL", WINDOW | {"mode": PoolMode.DEPTHWISE})
MISC = Op("MISC", {"n0": 1, "n1": 1, "n2": 1, "n3": 1, "n4": 2, "a_s4": 1, "b_s4": 1, "o_s4": 1, "b_addr": 100, "o_addr": 200})
LOAD = Op("LOAD", {"rows": 1, "pixels": 2, "step": 4, "run": 4, "valid": 8, "d_xs": 1})
LOADP = Op("LOADP", {"count": 2})
SAVE = Op("SAVE", {"rows": 1, "pixels": 2, "step": 4, "run": 4, "s_xs": 1, "region": 1})
LEGAL = [CONV, POOL, MISC, LOAD, LOADP, SAVE]


def changed(op: Op, **values: int) -> Op:
    return dataclasses.replace(op, values={**op.values, **values})


def run(words: list[int], config: MachineConfig = NANO) -> None:
    FunctionalMachine(config).run(words, np.zeros(MEMORY_BYTES, dtype=np.uint8), BASES)


def fault_of(words: list[int], config: MachineConfig = NANO) -> tuple[Fault, int]:
    with pytest.raises(MachineFault) as stopped:
        run(words, config)
    return stopped.value.fault, stopped.value.pc


@pytest.mark.parametrize("op", LEGAL, ids=lambda op: op.name)
def test_the_plain_instructions_are_legal(op: Op) -> None:
    run(program(NANO, op))


AT_THE_EDGE = [
    ("LOAD destination", LOAD, {"d_addr": LAST - 1}, {"d_addr": LAST}, Fault.FM_ADDRESS),
    ("LOAD that only fills", changed(LOAD, valid=0), {"d_addr": LAST - 1}, {"d_addr": LAST}, Fault.FM_ADDRESS),
    ("SAVE source", SAVE, {"s_addr": LAST - 1}, {"s_addr": LAST}, Fault.FM_ADDRESS),
    ("SAVE second vector", changed(SAVE, step=5, run=5), {"s_cs": LAST - 1}, {"s_cs": LAST}, Fault.FM_ADDRESS),
    ("CONV input", CONV, {"i_addr": LAST - 3}, {"i_addr": LAST - 2}, Fault.FM_ADDRESS),
    ("CONV second vector", changed(CONV, vectors=2), {"i_cs": LAST - 3}, {"i_cs": LAST - 2}, Fault.FM_ADDRESS),
    ("CONV second group", changed(CONV, chunks=2, g_chunks=1), {"g_step": LAST - 3}, {"g_step": LAST - 2}, Fault.FM_ADDRESS),
    ("CONV row offset below 0", CONV, {"i_off": 0}, {"i_off": 2**24 - 1}, Fault.FM_ADDRESS),
    ("CONV output", CONV, {"o_addr": LAST - 3}, {"o_addr": LAST - 2}, Fault.FM_ADDRESS),
    ("CONV second chunk", changed(CONV, chunks=2, o_addr=0), {"o_cs": LAST - 3}, {"o_cs": LAST - 2}, Fault.FM_ADDRESS),
    ("CONV weights", CONV, {"w_addr": NANO.weight_depth - 1}, {"w_addr": NANO.weight_depth}, Fault.BUFFER_ADDRESS),
    ("CONV parameters", CONV, {"p_addr": NANO.param_depth - 1}, {"p_addr": NANO.param_depth}, Fault.BUFFER_ADDRESS),
    ("CONV sums stored", changed(CONV, acc_out=1), {"a_addr": NANO.acc_depth - 4}, {"a_addr": NANO.acc_depth - 3},
     Fault.BUFFER_ADDRESS),
    ("CONV sums read", changed(CONV, acc_in=1), {"a_addr": NANO.acc_depth - 4}, {"a_addr": NANO.acc_depth - 3},
     Fault.BUFFER_ADDRESS),
    ("POOL input", POOL, {"i_addr": LAST - 3}, {"i_addr": LAST - 2}, Fault.FM_ADDRESS),
    ("POOL output", POOL, {"o_addr": LAST - 3}, {"o_addr": LAST - 2}, Fault.FM_ADDRESS),
    ("POOL taps", changed(POOL, vectors=2), {"t_step": NANO.taps_depth - 1}, {"t_step": NANO.taps_depth}, Fault.BUFFER_ADDRESS),
    ("POOL parameters", changed(POOL, vectors=2), {"p_step": NANO.pool_param_depth - 1}, {"p_step": NANO.pool_param_depth},
     Fault.BUFFER_ADDRESS),
    ("POOL parameters by count", changed(POOL, mode=PoolMode.AVERAGE, by_count=1), {"p_addr": NANO.pool_param_depth - 2},
     {"p_addr": NANO.pool_param_depth - 1}, Fault.BUFFER_ADDRESS),
    ("MISC operand A", MISC, {"a_addr": LAST - 1}, {"a_addr": LAST}, Fault.FM_ADDRESS),
    ("MISC operand B", MISC, {"b_addr": LAST - 1}, {"b_addr": LAST}, Fault.FM_ADDRESS),
    ("MISC output", MISC, {"o_addr": LAST - 1}, {"o_addr": LAST}, Fault.FM_ADDRESS),
    ("LOAD from DRAM", changed(LOAD, region=3), {"offset": 0xFF8}, {"offset": 0xFF9}, Fault.READ_ERROR),
    ("LOAD gathers", changed(LOAD, region=3, step=5), {"offset": 0xFF7}, {"offset": 0xFF8}, Fault.READ_ERROR),
    ("LOADP from DRAM", changed(LOADP, region=3), {"offset": 0xFE0}, {"offset": 0xFE8}, Fault.READ_ERROR),
    ("SAVE to DRAM", changed(SAVE, region=3), {"offset": 0xFF8}, {"offset": 0xFF9}, Fault.WRITE_ERROR),
    *(
        (f"LOADP {b.name}", changed(LOADP, buffer=b), {"dst": NANO.buffer_depth(b.name) - 2},
         {"dst": NANO.buffer_depth(b.name) - 1}, Fault.BUFFER_ADDRESS)
        for b in built_buffers(NANO)
    ),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inside", "beyond", "fault"), [c[1:] for c in AT_THE_EDGE], ids=[c[0] for c in AT_THE_EDGE])
def test_last_location_is_inside_and_the_next_is_not(
    op: Op, inside: dict[str, int], beyond: dict[str, int], fault: Fault
) -> None:
    run(program(NANO, changed(op, **inside)))
    filler = Op("LOADP", {"count": 1})
    assert fault_of(program(NANO, filler, changed(op, **beyond))) == (fault, START_WORDS + filler.row.length)


@pytest.mark.parametrize(
    "op",
    [
        changed(CONV, i_addr=LAST - 1, i_h=1, i_w=2),
        changed(POOL, i_addr=LAST, i_h=1, i_w=1),
        changed(CONV, i_off=2**24 - 2, pad_t=1, t_ys=0),
        changed(CONV, a_addr=65535),
        changed(CONV, acc_out=1, o_addr=LAST, p_addr=65535),
        changed(POOL, mode=PoolMode.AVERAGE, t_addr=65535),
        changed(POOL, mode=PoolMode.MAX, p_addr=65535),
        changed(MISC, mode=MiscMode.PASS, b_addr=LAST),
        changed(LOAD, valid=0, offset=0xFFFFF000),
    ],
    ids=["rows below", "columns beside", "rows above", "entries", "acc_out", "taps", "MAX", "PASS", "fill"],
)
def test_what_is_not_touched_may_lie_outside(op: Op) -> None:
    run(program(NANO, op))


@pytest.mark.parametrize("opcode", [0, 9, 15])
def test_unknown_opcode(opcode: int) -> None:
    assert fault_of([*program(NANO)[:2], opcode | 1 << 4]) == (Fault.ILLEGAL_OPCODE, 2)


WITHOUT_POOL = dataclasses.replace(NANO, build_pool=False)
WITHOUT_MISC = dataclasses.replace(NANO, build_misc=False)


@pytest.mark.parametrize(("op", "config"), [(POOL, WITHOUT_POOL), (MISC, WITHOUT_MISC)], ids=["POOL", "MISC"])
def test_unit_that_was_not_built(op: Op, config: MachineConfig) -> None:
    assert fault_of(program(config, op), config) == (Fault.ILLEGAL_OPCODE, START_WORDS)


@pytest.mark.parametrize(
    "op",
    [
        changed(CONV, chunks=0),
        changed(CONV, table=3),
        changed(CONV, i_ring=4, i_off=4),
        changed(POOL, by_count=1),
        changed(LOAD, step=5, lead=1),
        changed(LOAD, step=1, run=NANO.window_bytes + 1),
        changed(LOADP, offset=4),
        changed(SAVE, run=5),
        changed(SAVE, region=Region.CONST),
        changed(SAVE, region=Region.INPUT),
    ],
    ids=lambda op: op.name,
)
def test_illegal_fields(op: Op) -> None:
    assert fault_of(program(NANO, op)) == (Fault.ILLEGAL_FIELD, START_WORDS)


@pytest.mark.parametrize(("word", "bit"), [(0, 4), (0, 31), (11, 31)], ids=["length", "header", "body"])
def test_illegal_bits(word: int, bit: int) -> None:
    words = program(NANO, CONV)
    words[START_WORDS + word] ^= 1 << bit
    assert fault_of(words) == (Fault.ILLEGAL_FIELD, START_WORDS)


def test_fields_are_checked_before_tokens() -> None:
    op = dataclasses.replace(changed(CONV, chunks=0), wait=frozenset({Unit.LOAD}))
    assert fault_of(program(NANO, op)) == (Fault.ILLEGAL_FIELD, START_WORDS)


def test_program_of_another_configuration() -> None:
    assert fault_of(program(preset("base"))) == (Fault.CONFIG_MISMATCH, 0)


def test_program_without_start() -> None:
    assert fault_of(encode(Op("END"))) == (Fault.CONFIG_MISMATCH, 0)


@pytest.mark.parametrize(("kept", "pc"), [(0, 0), (1, 0), (2, 2), (10, 2)], ids=["empty", "in START", "no END", "in CONV"])
def test_program_that_ends_early(kept: int, pc: int) -> None:
    assert fault_of(program(NANO, CONV)[:kept]) == (Fault.PROGRAM_END, pc)


def test_words_after_end_are_not_looked_at() -> None:
    run([*program(NANO), 0])


def test_token_that_nobody_gives() -> None:
    op = dataclasses.replace(CONV, wait=frozenset({Unit.LOAD}))
    assert fault_of(program(NANO, LOADP, op)) == (Fault.WATCHDOG, START_WORDS + LOADP.row.length)


def test_watchdog_names_the_first_unit_that_waits() -> None:
    """POOL is stuck first in program order, but LOAD, stuck behind it, comes first among the units."""
    pool = dataclasses.replace(POOL, wait=frozenset({Unit.CONV}), signal=frozenset({Unit.LOAD}))
    load = dataclasses.replace(LOAD, wait=frozenset({Unit.POOL}))
    assert fault_of(program(NANO, pool, load)) == (Fault.WATCHDOG, START_WORDS + POOL.row.length)


def test_program_that_relies_on_a_later_token_is_not_sequential() -> None:
    conv = dataclasses.replace(CONV, wait=frozenset({Unit.LOAD}))
    load = dataclasses.replace(LOAD, signal=frozenset({Unit.CONV}))
    assert fault_of(program(NANO, conv, load)) == (Fault.WATCHDOG, START_WORDS)


def test_a_token_without_room_names_the_giver() -> None:
    load = dataclasses.replace(LOADP, signal=frozenset({Unit.CONV}))
    run(program(NANO, *[load] * TOKEN_MAX))
    last = START_WORDS + TOKEN_MAX * load.row.length
    assert fault_of(program(NANO, *[load] * (TOKEN_MAX + 1))) == (Fault.WATCHDOG, last)


def test_more_tokens_than_fit_in_program_order_are_no_sequential_program() -> None:
    """Even if they are taken later: a full queue may keep the taker from its unit."""
    load = dataclasses.replace(LOADP, signal=frozenset({Unit.CONV}))
    conv = dataclasses.replace(CONV, wait=frozenset({Unit.LOAD}))
    run(program(NANO, *[load] * TOKEN_MAX, conv, load, *[conv] * TOKEN_MAX))
    last = START_WORDS + TOKEN_MAX * load.row.length
    assert fault_of(program(NANO, *[load] * (TOKEN_MAX + 1), *[conv] * (TOKEN_MAX + 1))) == (Fault.WATCHDOG, last)


def test_a_token_taken_and_given_at_once_needs_no_room() -> None:
    load = dataclasses.replace(LOADP, signal=frozenset({Unit.LOAD}))
    both = dataclasses.replace(load, wait=frozenset({Unit.LOAD}))
    run(program(NANO, *[load] * TOKEN_MAX, both))


def test_tokens_that_are_taken_find_room() -> None:
    load = dataclasses.replace(LOADP, signal=frozenset({Unit.LOAD}))
    again = dataclasses.replace(load, wait=frozenset({Unit.LOAD}))
    run(program(NANO, load, *[again] * (2 * TOKEN_MAX)))


@pytest.mark.parametrize(
    "memory", [np.zeros(64, np.int8), np.zeros((8, 8), np.uint8), np.zeros(64, np.uint8)[::2]], ids=["type", "shape", "gaps"]
)
def test_memory_that_is_not_bytes(memory: np.ndarray) -> None:
    with pytest.raises(MemoryImageError, match=r"memory image: .* expected a writeable, contiguous vector of uint8"):
        FunctionalMachine(NANO).run(program(NANO), memory, {})


@pytest.mark.parametrize(("op", "size"), [case[1:] for case in moves(NANO)], ids=[case[0] for case in moves(NANO)])
def test_a_region_of_exactly_its_size_is_enough_and_a_byte_less_is_not(op: Op, size: int) -> None:
    region = Region(op["region"])
    memory = np.zeros(1 << 16, np.uint8)
    machine = FunctionalMachine(NANO)
    others = {other: 0 for other in Region if other is not region}
    machine.run(program(NANO, op), memory, {}, limits={region: size, **others})
    with pytest.raises(MachineFault, match=f"of {region.name}, which has {size - 1:#x}") as stopped:
        machine.run(program(NANO, op), memory, {}, limits={region: size - 1})
    assert (stopped.value.fault, stopped.value.pc) == (Fault.REGION_LIMIT, START_WORDS)


def test_what_only_fills_needs_no_region() -> None:
    limits = dict.fromkeys(Region, 0)
    FunctionalMachine(NANO).run(program(NANO, changed(LOAD, valid=0)), np.zeros(64, np.uint8), {}, limits=limits)


def test_base_between_beats() -> None:
    with pytest.raises(MachineFault, match="MISALIGNED: base of region WORK: 0x4, expected a multiple of the 8-byte AXI beat"):
        FunctionalMachine(NANO).run(program(NANO), np.zeros(64, np.uint8), {Region.WORK: 4})
