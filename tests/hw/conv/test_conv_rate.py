"""How many cycles CONV takes: a beat in each of them, and a short start and drain."""

from __future__ import annotations

import random

import pytest

from isa.config import PRESETS, MachineConfig, config_from_dict
from tests.hw.conv.conv_bench import Outcome, run
from tests.hw.conv.conv_reference import Memory
from tests.tables import one_in


def lanes_of(preset: str, **changes: int) -> MachineConfig:
    """The preset's pixel lanes, banks and word shape on the smallest array that has them: timing is the same but
    for the array's latency (at twice the clock it would need two output lanes)."""
    c = PRESETS[preset]
    small = {
        "base": preset, "array_clock": 1, "ic_p": -(-c.ic_p // c.oc_p), "oc_p": 1, "fm_depth": 64, "weight_depth": 256,
        "conv_finish": c.px_p, "pool_finish": 1, "misc_lanes": 1,
    }  # fmt: skip
    return config_from_dict({**small, **changes}, origin="test")


def layer(c: MachineConfig, **f: int) -> dict[str, int]:
    """Dense rows from word 0 on; output in the upper half of the buffer, in other banks."""
    k_h, k_w, vectors = f.get("k_h", 1), f.get("k_w", 1), f.get("vectors", 1)
    s_y, s_x, d = f.get("s_y", 1), f.get("s_x", 1), f.get("d", 1)
    o_h, o_w, chunks = f["o_h"], f["o_w"], f.get("chunks", 1)
    pad_t, pad_l = d * (k_h // 2), d * (k_w // 2)
    i_h, i_w = o_h * s_y, o_w * s_x
    assert max(i_h * i_w * vectors, o_h * o_w * chunks) <= c.fm_words // 2
    return {
        "s_y": s_y, "s_x": s_x, "d_y": d, "d_x": d, "k_h": k_h, "k_w": k_w, "vectors": vectors, "chunks": chunks,
        "pad_t": pad_t, "pad_l": pad_l, "i_off": -pad_t * i_w % (1 << 24), "i_ys": s_y * i_w, "t_ys": d * i_w,
        "i_h": i_h, "i_w": i_w, "i_cs": i_h * i_w, "o_h": o_h, "o_w": o_w,
        "o_addr": c.fm_words // 2, "o_xs": 1, "o_ys": o_w, "o_cs": o_h * o_w, "hi": 127, "lo": -128,
    }  # fmt: skip


def measure(c: MachineConfig, program: list[dict[str, int]]) -> Outcome:
    outcome = run(Memory(c, random.Random(0)), program, banked=True)
    assert len(outcome.fired) == sum(beats(c, f) for f in program)
    return outcome


def beats(c: MachineConfig, f: dict[str, int]) -> int:
    return f["chunks"] * -(-f["o_h"] * f["o_w"] // c.px_p) * f["k_h"] * f["k_w"] * f["vectors"]


LAYERS = {
    "1x1, one beat per reduction": {"o_h": 4, "o_w": 8, "chunks": 4},
    "1x1": {"o_h": 2, "o_w": 8, "vectors": 4, "chunks": 2},
    "3x3": {"o_h": 2, "o_w": 8, "k_h": 3, "k_w": 3, "vectors": 2},
    "3x3 stride 2": {"o_h": 2, "o_w": 8, "k_h": 3, "k_w": 3, "s_y": 2, "s_x": 2, "vectors": 2},
    "3x3 dilation 2": {"o_h": 2, "o_w": 8, "k_h": 3, "k_w": 3, "d": 2},
    "5x5": {"o_h": 2, "o_w": 8, "k_h": 5, "k_w": 5},
    "7x7 stride 2, columns folded": {"o_h": 2, "o_w": 8, "k_h": 7, "s_y": 2, "vectors": 2},
    "7x7 stride 2": {"o_h": 1, "o_w": 8, "k_h": 7, "k_w": 7, "s_y": 2, "s_x": 2},
}


@pytest.mark.parametrize("preset", one_in(3, PRESETS))
def test_a_beat_in_every_cycle_of_any_layer_and_between_layers(preset: str) -> None:
    c = lanes_of(preset)
    program = [layer(c, **f) for f in LAYERS.values()]
    fired = measure(c, program).fired
    assert fired == list(range(fired[0], fired[0] + len(fired)))


@pytest.mark.parametrize("vectors", [1, 2, 3])
def test_a_reduction_takes_as_long_as_its_drain(vectors: int) -> None:
    """Four pixels leave in two steps of two: reductions of two beats and more run without a gap."""
    c = lanes_of("zu9", conv_finish=2)
    fired = measure(c, [layer(c, o_h=4, o_w=8, vectors=vectors)]).fired
    reductions = 8
    span = fired[-1] - fired[0] + 1
    assert span == max(vectors, 2) * reductions - max(0, 2 - vectors)


@pytest.mark.parametrize(("preset", "start", "drain"), [("nano", 14, 20), ("base", 14, 28), ("zu2", 14, 27), ("zu9", 15, 27)])
def test_start_and_drain(preset: str, start: int, drain: int) -> None:
    """Cycles from an instruction to its first beat, and from its last beat to ``done``."""
    lanes = PRESETS[preset].array_clock
    small = {"base": preset, "oc_p": lanes, "weight_depth": 16, "param_depth": 2, "conv_finish": lanes * PRESETS[preset].px_p}
    c = config_from_dict(small, origin="test")
    outcome = measure(c, [layer(c, o_h=1, o_w=c.px_p * 3)])
    assert (outcome.fired[0], outcome.done[0] - outcome.fired[-1]) == (start, drain)
