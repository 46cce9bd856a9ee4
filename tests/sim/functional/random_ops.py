"""Random small legal instructions, and machines with random contents to run them on."""

from __future__ import annotations

import dataclasses
import random

import numpy as np

from isa.capabilities import built_buffers
from isa.codec import Op, encode
from isa.config import MachineConfig, preset
from isa.instructions import MISC_REDUCTIONS, WRITABLE, Activation, Buffer, MiscMode, PoolMode, Region, RowMode
from sim.functional.machine import FunctionalMachine
from tests.sim.functional.naive import NaiveMachine

NANO = preset("nano")
ODD = dataclasses.replace(NANO, name="odd", ic_p=5, oc_p=3, px_p=3, fm_banks=8, fm_depth=256, build_rows=True, row_lanes=1)
WIDE = dataclasses.replace(NANO, name="wide", ic_p=4, oc_p=9, px_p=2, fm_banks=8, fm_depth=256, build_rows=True)
CONFIGS = [NANO, ODD, WIDE]
LONG = [dataclasses.replace(config, name=f"{config.name}16", act16=True) for config in CONFIGS]
"""The same with activations of 16 bits."""
SQUARE = dataclasses.replace(NANO, name="square", build_products=True)
HALVES = dataclasses.replace(NANO, name="halves", ic_p=6, oc_p=3, axi_data_bits=32, build_products=True)
PRODUCTS = [SQUARE, HALVES]
"""Machines with LOADW."""

BASES = {Region.CONST: 0, Region.WORK: 0x1000, Region.INPUT: 0x2000, Region.OUTPUT: 0x3000}
MEMORY_BYTES = 0x4000
INPUT_WORDS = 900
"""Inputs are placed below this word, outputs above."""


def program(config: MachineConfig, *ops: Op) -> list[int]:
    """The binary of a whole program around these instructions."""
    start = Op("START", {"config": config.hash})
    return [word for op in (start, *ops, Op("END")) for word in encode(op)]


def random_memory(rng: random.Random) -> bytearray:
    return bytearray(rng.randbytes(MEMORY_BYTES))


def fill(machine: FunctionalMachine, naive: NaiveMachine, rng: random.Random) -> None:
    """The same random contents in both."""
    config = machine.config
    machine.state.feature_map[:] = np.frombuffer(rng.randbytes(config.fm_words * config.ic_p), np.int8).reshape(-1, config.ic_p)
    naive.fm = machine.state.feature_map.tolist()
    for buffer, words in machine.state.buffers.items():
        words[:] = np.frombuffer(rng.randbytes(words.size), np.uint8).reshape(words.shape)
        if buffer in (Buffer.PARAM, Buffer.POOL_PARAM):
            # A 26-bit mantissa over 8 or 9 nibbles spreads the sums of these small tiles over int8.
            words[:, 7::8] = words[:, 7::8] & 0xC7 | 8 << 2
            words[:, 3::8] = words[:, 3::8] // 255 * 255
        naive.buffers[buffer] = [bytes(word.tobytes()) for word in words]
    acc = machine.state.accumulators
    held = np.frombuffer(rng.randbytes(acc.size * 8), np.int64).reshape(acc.shape)
    acc[:] = held >> (64 - config.sum_bits)
    sums = machine.state.window_sums
    sums[:] = np.frombuffer(rng.randbytes(sums.size * 4), np.int32).reshape(sums.shape)
    naive.acc = np.concatenate([acc, sums[..., None]], axis=2).tolist()


_HIGH = {"zp": 0, "lo": 0x80, "hi": 0x7F}
"""High bytes with which zero-point and bounds change little."""


def post(rng: random.Random, config: MachineConfig, acts: list[Activation]) -> dict[str, int]:
    return {
        "zp": rng.randint(-128, 127),
        "lo": rng.choice([-128, rng.randint(-128, 127)]),
        "hi": rng.choice([127, rng.randint(-128, 127)]),
        "act": rng.choice(acts),
        "table": rng.randrange(config.tables),
    }


def window(rng: random.Random, vectors: int) -> dict[str, int]:
    """A window on an input that lies below ``INPUT_WORDS``, with or without a ring, with or without spare pitch."""
    k_h, k_w = rng.randint(1, 3), rng.randint(1, 3)
    s_y, s_x, d_y, d_x = (rng.randint(1, 3) for _ in range(4))
    pad_t, pad_l = rng.randint(0, 2), rng.randint(0, 2)
    i_h, i_w = rng.randint(1, 6), rng.randint(1, 6)
    pitch = i_w + rng.randint(0, 2)
    ring = pitch * i_h + rng.randint(0, pitch) if rng.random() < 0.3 and max(s_y, d_y) <= i_h else 0
    rows = i_h + 1
    off = -pad_t * pitch
    f = {"i_h": i_h, "i_w": i_w, "pad_t": pad_t, "pad_l": pad_l, "k_h": k_h, "k_w": k_w}
    f |= {"s_y": s_y, "s_x": s_x, "d_y": d_y, "d_x": d_x, "vectors": vectors, "pad_value": rng.randint(-128, 127)}
    return f | {
        "i_addr": rng.randrange(INPUT_WORDS - vectors * rows * pitch),
        "i_off": off % ring if ring else off % 2**24,
        "i_ring": ring,
        "i_cs": rows * pitch,
        "i_ys": s_y * pitch,
        "t_ys": d_y * pitch,
    }


def output(rng: random.Random, config: MachineConfig, vectors: int) -> dict[str, int]:
    """An output of a few pixels and these channel vectors, above ``INPUT_WORDS``; sometimes with gaps."""
    o_h, o_w, o_xs = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 3)
    o_ys = o_w * o_xs + rng.randint(0, 2)
    o_cs = o_h * o_ys + rng.randint(0, 3)
    o_addr = rng.randrange(INPUT_WORDS, config.fm_words - vectors * o_cs - 8)
    return {"o_h": o_h, "o_w": o_w, "o_xs": o_xs, "o_ys": o_ys, "o_cs": o_cs, "o_addr": o_addr}


def random_conv(rng: random.Random, config: MachineConfig) -> Op:
    x16, y16 = (rng.randrange(2) if config.act16 else 0 for _ in range(2))
    chunks = rng.randint(1, 3 if y16 else 5)
    g_chunks = rng.choice([0, 0, 2 if x16 else 1, 2])
    vectors = 2 * rng.randint(1, 2) if x16 else rng.randint(1, 3)
    groups = -(-chunks // g_chunks) if g_chunks else 1
    f = window(rng, vectors * groups)
    out = output(rng, config, -(-chunks * max(config.oc_p, config.ic_p) // config.ic_p) * (1 + y16))
    f |= out | post(rng, config, [Activation.NONE] if y16 else list(Activation))
    f |= {"x16": x16, "y16": y16}
    if y16:
        f |= {f"{name}_high": rng.choice([rng.randrange(256), extreme]) for name, extreme in _HIGH.items()}
    f |= {"chunks": chunks, "g_chunks": g_chunks, "g_step": vectors * f["i_cs"], "vectors": vectors}
    f |= {"w_addr": rng.randint(0, config.weight_depth - chunks * f["k_h"] * f["k_w"] * vectors)}
    f |= {"p_addr": rng.randint(0, config.param_depth - chunks)}
    f |= {"w_zp": rng.choice([0, -128, 127, rng.randint(-128, 127)])}
    entries = chunks * -(-out["o_h"] * out["o_w"] // config.px_p)
    if entries <= config.acc_depth:
        f |= {"acc_in": rng.randrange(2), "acc_out": rng.randrange(2), "a_addr": rng.randint(0, config.acc_depth - entries)}
    return Op("CONV", f)


def random_pool(rng: random.Random, config: MachineConfig) -> Op:
    vectors = rng.randint(1, 3)
    mode = rng.choice(list(PoolMode))
    f = window(rng, vectors) | output(rng, config, vectors) | post(rng, config, list(Activation))
    f |= {"mode": mode, "by_count": int(mode == PoolMode.AVERAGE and rng.random() < 0.5)}
    f |= {"p_step": rng.randint(0, 4), "t_step": rng.randint(0, 9)}
    f |= {"p_addr": rng.randint(0, config.pool_param_depth - 18), "t_addr": rng.randint(0, config.taps_depth - 27)}
    return Op("POOL", f)


def random_misc(rng: random.Random, config: MachineConfig) -> Op:
    f: dict[str, int] = {f"n{loop}": rng.randint(1, 3) for loop in range(5)}
    for letter in "ab":
        f |= {f"{letter}_s{loop}": rng.randint(0, 40) for loop in range(5)}
        f[f"{letter}_addr"] = rng.randrange(INPUT_WORDS - 400)
    pitch = 1
    for loop in reversed(range(5)):
        f[f"o_s{loop}"] = pitch
        pitch *= f[f"n{loop}"]
    f["o_addr"] = rng.randrange(INPUT_WORDS, config.fm_words - pitch)
    mode = rng.choice(list(MiscMode))
    if mode not in MISC_REDUCTIONS and rng.random() < 0.3:
        f |= {f"a_s{loop}": f[f"o_s{loop}"] for loop in range(5)} | {"a_addr": f["o_addr"]}
    if mode in MISC_REDUCTIONS:
        f["o_s4"] = 0
    f |= {"b_one": rng.randrange(2), "b_lane": rng.randrange(config.ic_p), "last_lanes": rng.randint(1, config.ic_p)}
    bits = 25 - (8 if mode in (MiscMode.MUL, MiscMode.SLOPE) else 0)
    f |= {"mode": mode, "a_zp": rng.randint(-128, 127), "b_zp": rng.randint(-128, 127)}
    f |= {"m_a": rng.randint(-(1 << bits), (1 << bits) - 1), "m_b": rng.randint(-(1 << 25), (1 << 25) - 1)}
    f |= {
        "shift": rng.choice([0, 63, 25, 25, 26]),
        "c_lo": rng.getrandbits(32),
        "c_hi": rng.choice([-1, 0, rng.randint(-32768, 32767)]),
    }
    return Op("MISC", f | post(rng, config, [Activation.NONE, Activation.TABLE]))


def random_load(rng: random.Random, config: MachineConfig) -> Op:
    run = rng.randint(1, 2 * config.ic_p + 1)
    step = rng.choice([run, run, rng.randint(0, run), run + rng.randint(1, 9)])
    rows, pixels = rng.randint(1, 4), rng.randint(1, 6)
    length = (pixels - 1) * step + run
    lead = rng.randint(0, length + 2) if step <= run and rng.random() < 0.5 else 0
    d_xs = rng.randint(1, 2)
    d_ys = pixels * d_xs + rng.randint(0, 2)
    return Op("LOAD", {
        "offset": rng.randint(0x100, 0x200), "rows": rows, "pixels": pixels, "fill": rng.randint(-128, 127),
        "row_stride": rng.randint(-40, 200) % 2**32, "step": step, "run": run, "lead": lead, "region": rng.choice(list(Region)),
        "flip": rng.randrange(2), "d_xs": d_xs, "valid": rng.choice([0, length, rng.randint(0, length + 3)]),
        "d_addr": rng.randrange(config.fm_words - 3 * rows * d_ys), "d_ys": d_ys, "d_cs": rows * d_ys,
    })  # fmt: skip


def random_save(rng: random.Random, config: MachineConfig) -> Op:
    run = rng.randint(1, 2 * config.ic_p + 1)
    return Op("SAVE", {
        "offset": rng.randint(0x100, 0x200), "rows": rng.randint(1, 4), "pixels": rng.randint(1, 6),
        "row_stride": rng.randint(-40, 200) % 2**32, "step": run + rng.choice([0, 0, 1, 9]), "run": run,
        "region": rng.choice(WRITABLE), "flip": rng.randrange(2), "s_addr": rng.randrange(config.fm_words - 600),
        "s_xs": rng.randint(0, 3), "s_ys": rng.randint(0, 40), "s_cs": rng.randint(0, 100),
    })  # fmt: skip


def random_row(rng: random.Random, config: MachineConfig) -> Op:
    """Rows below ``INPUT_WORDS``, with factors whose results are mostly within int8."""
    words, n0, n1 = rng.randint(1, 6), rng.randint(1, 3), rng.randint(1, 4)
    k = rng.randint(1, (1 << rng.randint(1, 48)) - 1)
    return Op("ROW", {
        "n0": n0, "n1": n1, "words": words, "last_lanes": rng.randint(1, config.ic_p), "mode": rng.choice(list(RowMode)),
        "a_addr": rng.randrange(INPUT_WORDS - 200), "a_s0": rng.randint(0, 40), "a_s1": rng.randint(0, 20),
        "a_cs": rng.randint(0, 3),
        "o_addr": INPUT_WORDS, "o_s0": n1 * words, "o_s1": words, "o_cs": 1,
        "a_zp": rng.randint(-128, 127), "shift": rng.randrange(4), "k_lo": k & 0xFFFFFFFF, "k_hi": k >> 32,
        "p_addr": rng.randint(0, config.buffer_depth("NORM") - words),
        **{name: value for name, value in post(rng, config, [Activation.NONE]).items() if name in ("zp", "lo", "hi")},
    })  # fmt: skip


def random_loadw(rng: random.Random, config: MachineConfig) -> Op:
    turned = rng.randrange(2)
    run = rng.randint(1, (3 if turned else 1) * config.ic_p)
    step = rng.choice([run, run, rng.randint(0, run), run + rng.randint(1, 9)])
    pixels = rng.randint(1, 3 * config.ic_p)
    length = (pixels - 1) * step + run
    return Op("LOADW", {
        "offset": rng.randint(0x100, 0x200), "pixels": pixels, "fill": rng.randint(-128, 127), "step": step, "run": run,
        "lead": rng.randint(0, length + 2) if step <= run and rng.random() < 0.5 else 0, "region": rng.choice(list(Region)),
        "flip": rng.randrange(2), "valid": rng.choice([0, length, rng.randint(0, length + 3)]), "turned": turned,
        "w_addr": rng.randrange(config.weight_depth - 100), "w_step": rng.choice([0, 1, 2, 3, rng.randint(4, 20)]),
        "p_addr": rng.randrange(config.param_depth - 20), "scale": rng.getrandbits(32),
        "x_zp": rng.choice([-128, 127, rng.randint(-128, 127)]), "w_zp": rng.choice([-128, 127, rng.randint(-128, 127)]),
    })  # fmt: skip


def random_loadp(rng: random.Random, config: MachineConfig) -> Op:
    buffer = rng.choice(built_buffers(config))
    count = rng.randint(1, min(6, config.buffer_depth(buffer.name)))
    dst = rng.randint(0, config.buffer_depth(buffer.name) - count)
    offset = rng.randrange(0x400) // config.axi_bytes * config.axi_bytes
    return Op("LOADP", {"offset": offset, "dst": dst, "count": count, "buffer": buffer, "region": rng.choice(list(Region))})
