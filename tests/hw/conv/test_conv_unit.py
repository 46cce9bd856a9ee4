"""ConvUnit against the formulas of docs/reference/semantics.md: results, faults and order."""

from __future__ import annotations

import copy
import random

import pytest

from isa.config import MachineConfig, config_from_dict
from isa.faults import Fault
from tests.hw.conv.conv_bench import run
from tests.hw.conv.conv_reference import Memory, conv, random_conv
from tests.tables import in_turn, one_in

SHAPES = {
    "nano": {},
    "odd lanes": {"ic_p": 5, "oc_p": 3, "px_p": 3, "conv_finish": 3, "pool_finish": 5, "fm_banks": 16},
    "all lanes at once": {"ic_p": 5, "oc_p": 3, "px_p": 2, "conv_finish": 6, "fm_banks": 16},
    "thirds of a pixel": {"ic_p": 3, "oc_p": 6, "px_p": 2, "conv_finish": 2, "fm_banks": 16},
    "three chunks a word": {"ic_p": 6, "oc_p": 2, "px_p": 2, "conv_finish": 4, "fm_banks": 16},
    "two words a chunk": {"ic_p": 2, "oc_p": 5, "px_p": 2, "conv_finish": 5, "fm_banks": 16},
    "one input lane": {"ic_p": 1, "oc_p": 3, "px_p": 1},
    "pixels packed": {"ic_p": 6, "oc_p": 3, "px_p": 4, "conv_finish": 12, "fm_banks": 16, "dsp_packing": True},
    "channels packed": {"ic_p": 3, "oc_p": 4, "px_p": 1, "dsp_packing": True},
    "pixels by turns": {
        "ic_p": 9, "oc_p": 4, "px_p": 2, "conv_finish": 4, "fm_banks": 16, "dsp_packing": True, "array_clock": 2,
    },
    "channels by turns": {"ic_p": 3, "oc_p": 4, "px_p": 1, "dsp_packing": True, "array_clock": 2},
    "two cascades": {"ic_p": 9, "oc_p": 2, "px_p": 2, "conv_finish": 2, "fm_banks": 16, "dsp_packing": True},
}


def config(shape: str) -> MachineConfig:
    small = {"base": "nano", "fm_banks": 16, "fm_depth": 32, "weight_depth": 150, "param_depth": 6, "acc_depth": 80}
    return config_from_dict({**small, **SHAPES[shape]}, origin="test")


@pytest.mark.parametrize(("shape", "grant"), in_turn([*SHAPES], [1.0, 0.6]))
def test_random_instructions(shape: str, grant: float) -> None:
    c = config(shape)
    rng = random.Random(shape)
    memory = Memory(c, rng)
    program = [random_conv(rng, c) for _ in range(3)]
    check(memory, program, grant)


@pytest.mark.parametrize("shape", one_in(2, [*SHAPES][1:]))
def test_reductions_continued_in_the_accumulators(shape: str) -> None:
    """Sums stored, fetched and added to, once with an unrelated instruction between."""
    c = config(shape)
    rng = random.Random(shape)
    program = []
    for _ in range(2):
        start = {**random_conv(rng, c), "acc_out": 1}
        on = {**random_conv(rng, c, acc_in=True, like=start), "acc_out": 1}
        end = random_conv(rng, c, acc_in=True, like=start)
        program += [start, on, random_conv(rng, c), end]
    check(Memory(c, rng), program, 1.0)


@pytest.mark.parametrize("pixels", [1, 2, 3, 4, 5])
def test_an_entry_stored_is_read_back_by_the_very_next_beats(pixels: int) -> None:
    c = config("nano")
    rng = random.Random(pixels)
    one = {**random_conv(rng, c), "k_h": 1, "k_w": 1, "vectors": 1, "o_h": 1, "o_w": pixels, "chunks": 1, "a_addr": 0}
    program = [{**one, "acc_out": 1}] + [{**one, "acc_in": 1, "acc_out": 1}] * 5 + [{**one, "acc_in": 1}]
    check(Memory(c, rng), program, 1.0)


def test_sums_that_are_kept_do_not_disturb_a_drain_of_several_steps() -> None:
    """Pixels leave one by one while the next instruction's reductions, of one beat each, are stored."""
    c = config_from_dict({"base": "nano", "px_p": 4, "conv_finish": 4, "fm_banks": 16, "acc_depth": 8}, origin="test")
    rng = random.Random(1)
    one = {**random_conv(rng, c), "k_h": 1, "k_w": 1, "vectors": 1, "o_h": 2, "o_w": 6, "a_addr": 0}
    one |= {"pad_t": 0, "pad_l": 0, "i_off": 0, "i_h": 12, "i_w": 12, "i_ring": 0, "i_ys": 12}
    drained = {**one, "chunks": 2, "lo": -128, "hi": 127, "act": 0, "p_addr": 0}
    kept = {**one, "chunks": 2, "acc_out": 1, "p_addr": 7}
    check(Memory(c, rng), [drained, kept], 1.0)


def check(memory: Memory, program: list[dict[str, int]], grant: float) -> None:
    expected = copy.deepcopy(memory)
    for fields in program:
        conv(expected, fields)
    outcome = run(memory, program, grant=grant)
    assert outcome.fault[0] == 0
    assert len(outcome.done) == len(program)
    wrong = [a for a in range(memory.config.fm_words) if outcome.fm[a] != expected.fm[a]]
    assert not wrong, f"words {wrong[:8]}: {[outcome.fm[a] for a in wrong[:3]]}, expected {[expected.fm[a] for a in wrong[:3]]}"


FAULTS = [
    ("a word read", {"i_addr": 16 * 32 - 2, "i_ys": 5, "t_ys": 5}, Fault.FM_ADDRESS),
    ("a word written", {"o_addr": 16 * 32 - 1}, Fault.FM_ADDRESS),
    ("a weight", {"w_addr": 150 - 1}, Fault.BUFFER_ADDRESS),
    ("a parameter", {"p_addr": 6 - 1}, Fault.BUFFER_ADDRESS),
    ("an entry read", {"a_addr": 80 - 1, "acc_in": 1}, Fault.BUFFER_ADDRESS),
    ("an entry stored", {"a_addr": 80 - 1, "acc_out": 1}, Fault.BUFFER_ADDRESS),
]


@pytest.mark.parametrize(("fields", "fault"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_outside_a_buffer(fields: dict[str, int], fault: Fault) -> None:
    """The first instruction is sound, the second one's second item is just outside."""
    c = config("nano")
    rng = random.Random(0)
    sound = {
        **dict.fromkeys(random_conv(rng, c), 0),
        **dict.fromkeys(("s_y", "s_x", "k_h", "k_w", "d_y", "d_x", "vectors", "chunks", "o_xs", "i_ys", "t_ys"), 1),
        "i_h": 5, "i_w": 5, "o_h": 2, "o_w": 2, "chunks": 2, "o_addr": 300, "o_ys": 2, "o_cs": 4,
    }  # fmt: skip
    outcome = run(Memory(c, rng), [sound, {**sound, **fields}], limit=1000)
    assert outcome.fault == (1, fault, 2)


def test_unused_parameters_and_entries_may_lie_anywhere() -> None:
    """Only instructions that use accumulator entries or parameters are checked for them."""
    c = config("nano")
    rng = random.Random(0)
    memory = Memory(c, rng)
    plain = {**random_conv(rng, c), "a_addr": 65535}
    kept = {**random_conv(rng, c), "acc_out": 1, "p_addr": 65535, "o_addr": c.fm_words}
    outcome = run(memory, [plain, kept])
    assert outcome.fault[0] == 0
    assert len(outcome.done) == 2
