"""CONV of docs/reference/semantics.md in plain loops, and random small instructions."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from isa.codec import Op, broken_rule
from isa.config import MachineConfig
from isa.instructions import Activation

MOD = 1 << 24
Word = list[int]


@dataclass
class Memory:
    """All that CONV reads and writes; int8 values as Python integers."""

    config: MachineConfig
    rng: random.Random
    fm: list[Word] = field(init=False)
    weights: list[list[Word]] = field(init=False)
    params: list[list[tuple[int, int, int]]] = field(init=False)
    tables: list[Word] = field(init=False)
    entries: dict[int, np.ndarray] = field(default_factory=dict)
    """Of each pixel lane the sums, then the sum of the inputs."""

    def __post_init__(self) -> None:
        c, rng = self.config, self.rng
        self.fm = [_bytes(rng, c.ic_p) for _ in range(c.fm_words)]
        self.weights = [[_bytes(rng, c.ic_p) for _ in range(c.oc_p)] for _ in range(c.weight_depth)]
        self.params = [[_record(rng) for _ in range(c.oc_p)] for _ in range(c.param_depth)]
        self.tables = [_bytes(rng, 256) for _ in range(c.tables)]


def _bytes(rng: random.Random, count: int) -> Word:
    return [rng.choice([-128, 127, rng.randint(-128, 127)]) for _ in range(count)]


def _record(rng: random.Random) -> tuple[int, int, int]:
    return rng.randint(-20000, 20000), rng.randrange(1 << 23, 1 << 24), rng.randint(28, 36)


def conv(memory: Memory, f: dict[str, int]) -> None:
    """Execute one instruction."""
    c = memory.config
    pixels = [(oy, ox) for oy in range(f["o_h"]) for ox in range(f["o_w"])]
    groups = -(-len(pixels) // c.px_p)
    beats = f["k_h"] * f["k_w"] * f["vectors"]
    for k in range(f["chunks"]):
        shift = k // f["g_chunks"] * f["g_step"] if f["g_chunks"] else 0
        for n, (oy, ox) in enumerate(pixels):
            acc = np.zeros(c.oc_p + 1, dtype=np.int32)
            entry = f["a_addr"] + k * groups + n // c.px_p
            if f["acc_in"]:
                acc = memory.entries[entry][n % c.px_p].copy()
            for ky in range(f["k_h"]):
                for kx in range(f["k_w"]):
                    for v in range(f["vectors"]):
                        x = _operand(memory, f, oy, ox, ky, kx, shift + v * f["i_cs"])
                        b = (ky * f["k_w"] + kx) * f["vectors"] + v
                        w = np.array([*memory.weights[f["w_addr"] + k * beats + b], [1] * c.ic_p], dtype=np.int32)
                        acc += w @ np.array(x, dtype=np.int32)
            if f["acc_out"]:
                memory.entries.setdefault(entry, np.zeros((c.px_p, c.oc_p + 1), dtype=np.int32))[n % c.px_p] = acc
            else:
                records = memory.params[f["p_addr"] + k]
                sums = acc[:-1] - f["w_zp"] * acc[-1]
                _store(memory, f, k, oy, ox, [post(memory, f, int(a), r) for a, r in zip(sums, records, strict=True)])


def _operand(memory: Memory, f: dict[str, int], oy: int, ox: int, ky: int, kx: int, shift: int) -> Word:
    iy = oy * f["s_y"] - f["pad_t"] + ky * f["d_y"]
    ix = ox * f["s_x"] - f["pad_l"] + kx * f["d_x"]
    if not (0 <= iy < f["i_h"] and 0 <= ix < f["i_w"]):
        return [f["pad_value"]] * memory.config.ic_p
    row = f["i_off"] + oy * f["i_ys"] + ky * f["t_ys"]
    row = row % f["i_ring"] if f["i_ring"] else row
    return memory.fm[(f["i_addr"] + row + ix + shift) % MOD]


def _store(memory: Memory, f: dict[str, int], k: int, oy: int, ox: int, values: Word) -> None:
    c = memory.config
    pixel = f["o_addr"] + oy * f["o_ys"] + ox * f["o_xs"]
    if c.oc_p < c.ic_p:
        vector, at = divmod(k, c.chunks_per_word)
        start = at * c.oc_p
        word = memory.fm[(pixel + vector * f["o_cs"]) % MOD]
        stop = min(start + c.oc_p, c.ic_p)
        word[start:stop] = values[: stop - start]
        return
    for j in range(c.words_per_chunk):
        vector = k * c.words_per_chunk + j
        memory.fm[(pixel + vector * f["o_cs"]) % MOD][:] = values[j * c.ic_p : (j + 1) * c.ic_p]


def post(memory: Memory, f: dict[str, int], acc: int, record: tuple[int, int, int]) -> int:
    """Requantisation and activation; steps 2 to 5 are float32 arithmetic."""
    bias, mantissa, shift = record
    total = (acc + bias + (1 << 31)) % (1 << 32) - (1 << 31)
    scaled = np.float32(total) * np.float32(mantissa)
    r = int(np.clip(np.rint(float(scaled) / 2.0**shift), -32768, 32767))
    y = min(max(r + f["zp"], f["lo"]), f["hi"])
    return memory.tables[f["table"]][y & 255] if f["act"] == Activation.TABLE else y


def random_conv(
    rng: random.Random, c: MachineConfig, *, acc_in: bool = False, like: dict[str, int] | None = None
) -> dict[str, int]:
    """A legal instruction with small loops. Input is read from the lower half of the buffer, output is dense
    in the upper half. ``like``: the same accumulators as that instruction."""
    half = c.fm_words // 2
    k_h, k_w = rng.choice([(1, 1), (1, 1), (2, 1), (3, 3), (1, 4)])
    o_h, o_w = rng.choice([(1, 1), (1, 5), (4, 1), (3, 3), (2, 5)])
    chunks = rng.randint(1, 3)
    if like is not None:
        o_h, o_w, chunks = like["o_h"], like["o_w"], like["chunks"]
    vectors = rng.randint(1, 2)
    i_h, i_w = rng.randint(1, 7), rng.randint(1, 7)
    ring = rng.choice([0, i_w * 2, i_w * 3])
    pad_t, d_y, s_y = rng.randint(0, 2), rng.randint(1, 2), rng.randint(1, 2)
    g_chunks = rng.randint(0, 2)
    i_ys, t_ys, i_off = s_y * i_w, d_y * i_w, -pad_t * i_w
    if ring:
        i_ys, t_ys, i_off = i_ys % ring, t_ys % ring, i_off % ring
    out_vectors = -(-chunks // c.chunks_per_word) * c.words_per_chunk
    beats = k_h * k_w * vectors
    groups = -(-o_h * o_w // c.px_p)
    fields = {
        "i_addr": rng.randint(0, 8), "pad_t": pad_t, "s_y": s_y, "i_off": i_off % MOD, "pad_l": rng.randint(0, 2),
        "i_ring": ring, "s_x": rng.randint(1, 2), "k_h": k_h, "i_cs": rng.choice([0, ring or i_h * i_w]), "k_w": k_w,
        "i_ys": i_ys, "i_h": i_h, "t_ys": t_ys, "i_w": i_w, "d_y": d_y, "d_x": rng.randint(1, 2), "vectors": vectors,
        "pad_value": rng.randint(-128, 127),
        "o_h": o_h, "o_w": o_w, "o_xs": 1, "o_ys": o_w, "o_cs": o_h * o_w,
        "o_addr": rng.randint(half, c.fm_words - o_h * o_w * out_vectors),
        "chunks": chunks, "g_chunks": g_chunks, "acc_in": int(acc_in), "acc_out": 0, "g_step": rng.randint(0, 12),
        "w_addr": rng.randint(0, c.weight_depth - chunks * beats), "p_addr": rng.randint(0, c.param_depth - chunks),
        "zp": rng.randint(-128, 127), "lo": rng.choice([-128, -100, 0]), "hi": rng.choice([127, 100, 6]),
        "act": rng.choice(list(Activation)), "table": rng.randrange(c.tables),
        "a_addr": rng.randint(0, c.acc_depth - chunks * groups) if like is None else like["a_addr"],
        "w_zp": rng.choice([-128, 0, 127, rng.randint(-128, 127)]),
    }  # fmt: skip
    rule = broken_rule(Op("CONV", fields), c)
    assert rule is None, rule
    return fields
