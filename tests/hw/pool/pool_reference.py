"""POOL of docs/reference/semantics.md in plain loops, and random instructions that stay within the buffers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from isa.config import MachineConfig, config_from_dict
from isa.instructions import Activation, PoolMode
from tests.hw.post.post_reference import finish, record, requantise

MOD = 1 << 24
Fields = dict[str, int]
Word = list[int]


@dataclass
class Machine:
    """The memories that POOL sees."""

    config: MachineConfig
    words: list[Word]
    taps: list[Word]
    params: list[list[tuple[int, int, int]]]
    """Bias, mantissa and shift of every lane of every word."""
    tables: list[list[int]] = field(default_factory=list)

    def param_bits(self, number: int) -> int:
        return sum(record(*lane) << 64 * n for n, lane in enumerate(self.params[number]))


def pool(f: Fields, machine: Machine) -> None:
    """Executes one instruction; an index error is the fault."""
    for v in range(f["vectors"]):
        for oy in range(f["o_h"]):
            for ox in range(f["o_w"]):
                result = _pixel(f, machine, v, oy, ox)
                machine.words[(f["o_addr"] + oy * f["o_ys"] + ox * f["o_xs"] + v * f["o_cs"]) % MOD] = result


def _pixel(f: Fields, machine: Machine, v: int, oy: int, ox: int) -> Word:
    seen: list[Word] = []
    weights: list[Word] = []
    counted = 0
    for ky in range(f["k_h"]):
        for kx in range(f["k_w"]):
            iy = oy * f["s_y"] - f["pad_t"] + ky * f["d_y"]
            ix = ox * f["s_x"] - f["pad_l"] + kx * f["d_x"]
            row = f["i_off"] + oy * f["i_ys"] + ky * f["t_ys"]
            row = row % f["i_ring"] if f["i_ring"] else row
            inside = 0 <= iy < f["i_h"] and 0 <= ix < f["i_w"]
            counted += inside
            if f["by_count"] and not inside:
                continue
            word = (f["i_addr"] + row + ix + v * f["i_cs"]) % MOD
            seen.append(machine.words[word] if inside else [f["pad_value"]] * machine.config.ic_p)
            if f["mode"] == PoolMode.DEPTHWISE:
                weights.append(machine.taps[f["t_addr"] + v * f["t_step"] + ky * f["k_w"] + kx])
    values = []
    for lane in range(machine.config.ic_p):
        taps = [word[lane] for word in seen]
        if f["mode"] == PoolMode.MAX:
            r = max(taps)
        else:
            acc = sum(x * (w[lane] - f["w_zp"]) for x, w in zip(taps, weights, strict=True)) if weights else sum(taps)
            number = f["p_addr"] + v * f["p_step"] + (counted if f["by_count"] else 0)
            r = requantise(acc, *machine.params[number][lane])
        table = machine.tables[f["table"]]
        values.append(finish(r, f["zp"], f["lo"], f["hi"], f["act"], table))
    return values


def small_config(
    ic_p: int = 5, px_p: int = 3, pool_finish: int = 0, taps: int = 1, packed: bool = False, clock: int = 1
) -> MachineConfig:
    phases = 1 if px_p == taps == 1 else 1 << (max(2 * px_p, px_p + taps - 1) - 1).bit_length()
    values = {
        "base": "nano", "ic_p": ic_p, "px_p": px_p, "fm_banks": phases, "fm_depth": 512 // phases, "taps_depth": 60,
        "pool_param_depth": 50, "pool_finish": pool_finish or ic_p,
        "pool_taps": taps, "dsp_packing": packed, "array_clock": clock, "oc_p": 4,
    }  # fmt: skip
    return config_from_dict(values, origin="test")


def random_machine(config: MachineConfig, rng: random.Random) -> Machine:
    def byte() -> int:
        return rng.randrange(-128, 128)

    def lane() -> tuple[int, int, int]:
        return rng.randrange(-500, 500), rng.randrange(1 << 23, 1 << 24), rng.randrange(24, 32)

    return Machine(
        config,
        words=[[byte() for _ in range(config.ic_p)] for _ in range(config.fm_words)],
        taps=[[byte() for _ in range(config.ic_p)] for _ in range(config.taps_depth)],
        params=[[lane() for _ in range(config.ic_p)] for _ in range(config.pool_param_depth)],
        tables=[[byte() for _ in range(256)] for _ in range(config.tables)],
    )


def plain_pool(mode: PoolMode, **fields: int) -> Fields:
    """A 3x3 window of stride 1 over 6 x 6 pixels, unpadded; input from word 0, output from word 256. Name what differs."""
    f = {
        "i_addr": 0, "i_off": 0, "i_ring": 0, "i_cs": 36, "i_ys": 6, "t_ys": 6, "i_h": 6, "i_w": 6, "pad_t": 0, "pad_l": 0,
        "s_y": 1, "s_x": 1, "k_h": 3, "k_w": 3, "d_y": 1, "d_x": 1, "vectors": 1, "pad_value": 0, "o_h": 4, "o_w": 4,
        "o_xs": 1, "o_addr": 256, "o_ys": 4, "o_cs": 16, "mode": mode.value, "by_count": 0, "t_addr": 0, "t_step": 9,
        "p_addr": 0, "p_step": 1, "zp": 0, "lo": -128, "hi": 127, "act": 0, "table": 0, "w_zp": 0,
    }  # fmt: skip
    assert set(fields) <= set(f)
    return {**f, **fields}


def random_pool(rng: random.Random, config: MachineConfig) -> Fields:
    """Any mode and geometry; reads words below 256, writes words from 256 on."""
    mode = rng.choice(list(PoolMode))
    by_count = int(mode == PoolMode.AVERAGE and rng.random() < 0.6)
    i_h, i_w, vectors = rng.randint(1, 6), rng.randint(1, 6), rng.randint(1, 3)
    pad_t, pad_l, s_y, d_y = rng.randint(0, 2), rng.randint(0, 2), rng.randint(1, 3), rng.randint(1, 2)
    pitch = i_w + rng.randint(0, 2)
    ring = i_h * pitch if rng.random() < 0.3 else 0
    i_off = -pad_t * pitch % (ring or MOD)
    i_ys, t_ys = (step % ring if ring else step for step in (s_y * pitch, d_y * pitch))
    i_cs = rng.randint(i_h * pitch, i_h * pitch + 3)
    o_h, o_w, o_xs = rng.randint(1, 5), rng.randint(1, 5), rng.randint(1, 2)
    o_ys = o_w * o_xs + rng.randint(0, 2)
    o_cs = o_h * o_ys + rng.randint(0, 3)
    lo, hi = rng.choice([(-128, 127), (-20, 30), (0, 127)])
    return {
        "i_addr": rng.randint(0, 255 - vectors * i_cs), "i_off": i_off, "i_ring": ring, "i_cs": i_cs, "i_ys": i_ys,
        "t_ys": t_ys, "i_h": i_h, "i_w": i_w, "pad_t": pad_t, "pad_l": pad_l, "s_y": s_y, "s_x": rng.randint(1, 3),
        "k_h": rng.randint(1, 3), "k_w": rng.randint(1, 3), "d_y": d_y, "d_x": rng.randint(1, 2), "vectors": vectors,
        "pad_value": rng.choice([-128, 0, 7]), "o_h": o_h, "o_w": o_w, "o_xs": o_xs,
        "o_addr": rng.randint(256, 511 - vectors * o_cs), "o_ys": o_ys, "o_cs": o_cs, "mode": mode.value,
        "by_count": by_count, "t_addr": rng.randint(0, 20), "t_step": rng.randint(0, 12), "p_addr": rng.randint(0, 10),
        "p_step": rng.randint(0, 10), "zp": rng.choice([0, 5, -100]), "lo": lo, "hi": hi,
        "act": rng.choice(list(Activation)).value, "table": rng.randrange(config.tables),
        "w_zp": rng.choice([0, -128, 127, rng.randrange(-128, 128)]),
    }  # fmt: skip


def taps_of(f: Fields, px_p: int) -> int:
    """Cycles in which a machine of ``px_p`` pixel lanes must be active."""
    return f["vectors"] * -(-f["o_h"] * f["o_w"] // px_p) * f["k_h"] * f["k_w"]


def flatten(words: Sequence[Word]) -> list[int]:
    return [sum((x & 255) << 8 * n for n, x in enumerate(word)) for word in words]
