"""Random CONV and POOL instructions."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import PoolMode
from sim.random.draw import int8, log_uniform, longest_load, place, post, subtensor_strides
from sim.random.footprint import ADDRESS_MODULUS, Cells, axes, window_words


@dataclass(frozen=True)
class Chain:
    """Accumulators that an earlier CONV left: the entries, pixels and chunks that a later one may start from."""

    a_addr: int
    o_h: int
    o_w: int
    chunks: int


def conv(rng: random.Random, config: MachineConfig, budget: int, chains: list[Chain]) -> Op | None:
    """A CONV of at most ``budget`` beats; some continue one of ``chains``. None: this draw does not fit."""
    chain = rng.choice(chains) if chains and rng.random() < 0.5 else None
    v = _window(rng, min(budget, config.weight_depth * 8), config, (chain.o_h, chain.o_w) if chain else None)
    taps = v["k_h"] * v["k_w"]
    pixels = v["o_h"] * v["o_w"]
    groups = -(-pixels // config.px_p)
    left = max(1, budget // (taps * groups))
    if taps > config.weight_depth:
        return None
    v["chunks"] = chain.chunks if chain else log_uniform(rng, 1, min(left, 8, config.param_depth))
    beats = min(max(1, left // v["chunks"]), config.weight_depth // (v["chunks"] * taps))
    if beats < 1:
        return None
    v["vectors"] = log_uniform(rng, 1, min(beats, 8))
    words = v["chunks"] * taps * v["vectors"]
    if words * config.buffer_dram_bytes("WEIGHT") > longest_load(config):
        return None
    long = _sixteen_bits(rng, v) if config.act16 else {}
    if rng.random() < 0.3:
        v["g_chunks"] = rng.randint(1, v["chunks"])
    _rows(rng, v)
    plane = _channel_step(rng, v)
    if v.get("g_chunks"):
        v["g_step"] = rng.choice((v["i_cs"] * v["vectors"], plane, rng.randint(0, 40)))
    v["w_addr"] = rng.randint(0, config.weight_depth - words)
    v["p_addr"] = rng.randint(0, config.param_depth - v["chunks"])
    v["w_zp"] = int8(rng)
    v["acc_in"] = int(chain is not None)
    v["acc_out"] = int(rng.random() < 0.3)
    entries = v["chunks"] * groups
    if v["acc_in"] | v["acc_out"]:
        if entries > config.acc_depth:
            return None
        v["a_addr"] = chain.a_addr if chain else rng.randint(0, config.acc_depth - entries)
    vectors = -(-v["chunks"] // config.chunks_per_word) * config.words_per_chunk * (1 + v.get("y16", 0))
    op = _placed(rng, config, "CONV", v, vectors) if _outputs(rng, v, vectors) else None
    return replace(op, values={**op.values, **long}) if op else None


def _sixteen_bits(rng: random.Random, v: dict[str, int]) -> dict[str, int]:
    """Makes inputs, outputs or both 16 bits wide; returns the fields of post-processing that change with them."""
    v["x16"], v["y16"] = rng.choice(((0, 0), (0, 1), (1, 0), (1, 1), (1, 1)))
    v["vectors"] *= 1 + v["x16"]
    if not v["y16"]:
        return {}
    high = {"zp_high": rng.choice((0, 0, 255, rng.randrange(256)))}
    high |= {"lo_high": rng.choice((128, 128, rng.randrange(256))), "hi_high": rng.choice((127, 127, rng.randrange(256)))}
    return high | {"act": 0}


def pool(rng: random.Random, config: MachineConfig, budget: int) -> Op | None:
    """A POOL of at most ``budget`` taps."""
    v = _window(rng, budget, config, None)
    taps = v["k_h"] * v["k_w"]
    groups = -(-v["o_h"] * v["o_w"] // config.px_p)
    v["vectors"] = log_uniform(rng, 1, max(1, min(budget // (taps * groups), 8)))
    v["mode"] = rng.choice((PoolMode.MAX, PoolMode.AVERAGE, PoolMode.DEPTHWISE, PoolMode.DEPTHWISE)).value
    needed = 1
    if v["mode"] == PoolMode.AVERAGE and rng.random() < 0.5:
        v["by_count"] = 1
        needed = taps + 1
    if v["mode"] == PoolMode.DEPTHWISE:
        v["w_zp"] = rng.choice((0, int8(rng)))
        v["t_step"] = rng.choice((taps, taps, 0, 1, taps + 3))
        last = taps + (v["vectors"] - 1) * v["t_step"]
        if last > config.taps_depth:
            return None
        v["t_addr"] = rng.randint(0, config.taps_depth - last)
    if v["mode"] != PoolMode.MAX:
        v["p_step"] = rng.choice((needed, 1, 0))
        last = needed + (v["vectors"] - 1) * v["p_step"]
        if last > config.pool_param_depth:
            return None
        v["p_addr"] = rng.randint(0, config.pool_param_depth - last)
    _rows(rng, v)
    _channel_step(rng, v)
    return _placed(rng, config, "POOL", v, v["vectors"]) if _outputs(rng, v, v["vectors"]) else None


def _window(rng: random.Random, budget: int, config: MachineConfig, shape: tuple[int, int] | None) -> dict[str, int]:
    """The kernel, strides, dilation, output shape, padding and input shape."""
    kernels = (1, 1, 1, 2, 3, 3, 3, 4, 5, 7)
    v = {"k_h": rng.choice(kernels), "k_w": 0}
    v["k_w"] = v["k_h"] if rng.random() < 0.6 else rng.choice((*kernels, 11))
    for axis in "yx":
        v[f"s_{axis}"] = rng.choice((1, 1, 1, 2, 2, 3, rng.randint(1, 63)))
        v[f"d_{axis}"] = rng.choice((1, 1, 1, 2, 2, rng.randint(1, 9)))
    pixels = max(1, budget // (v["k_h"] * v["k_w"]))
    if shape:
        v["o_h"], v["o_w"] = shape
    else:
        side = max(1, int(min(pixels, 20 * config.px_p) ** 0.5))
        v["o_h"], v["o_w"] = log_uniform(rng, 1, side), log_uniform(rng, 1, 2 * side)
    for axis, pad, size in (("y", "pad_t", "h"), ("x", "pad_l", "w")):
        reach = (v[f"o_{size}"] - 1) * v[f"s_{axis}"] + (v[f"k_{size}"] - 1) * v[f"d_{axis}"] + 1
        v[pad] = rng.choice((0, v[f"k_{size}"] // 2 * v[f"d_{axis}"], rng.randint(0, min(255, reach))))
        v[f"i_{size}"] = max(1, min(4095, reach - v[pad] - rng.choice((0, 0, v[pad], rng.randint(0, 3)))))
        if rng.random() < 0.05:
            v[f"i_{size}"] = rng.randint(1, 40)
    v["pad_value"] = int8(rng)
    return v


def _rows(rng: random.Random, v: dict[str, int]) -> None:
    """Sets the row strides: those of a tensor with some pitch, of a ring of its rows, or free ones."""
    pitch = v["i_w"] + rng.choice((0, 0, 0, 1, 2, rng.randint(0, 9)))
    kind = rng.random()
    if kind < 0.15:
        v["i_ys"], v["t_ys"] = rng.randint(0, 3 * pitch), rng.randint(0, 3 * pitch)
        v["i_off"] = rng.choice((0, rng.randint(0, 50)))
    else:
        v["i_ys"], v["t_ys"] = v["s_y"] * pitch, v["d_y"] * pitch
        v["i_off"] = -v["pad_t"] * pitch % ADDRESS_MODULUS
    if kind > 0.75:
        span = (v["k_h"] - 1) * v["d_y"] + 1
        v["i_ring"] = pitch * max(v["s_y"], v["d_y"], span + rng.randint(0, 3))
        v["i_off"] = (rng.randint(0, 5) - v["pad_t"]) * pitch % v["i_ring"]


def _channel_step(rng: random.Random, v: dict[str, int]) -> int:
    """Sets the step between channel vectors; returns the words of one plane."""
    rows = v["i_ring"] if v.get("i_ring") else v["i_h"] * max(1, v["i_ys"] // v["s_y"])
    v["i_cs"] = rng.choice((rows, rows, v["i_w"], rng.randint(0, 60)))
    return rows


def _outputs(rng: random.Random, v: dict[str, int], vectors: int) -> bool:
    """Sets the output strides; returns False if they do not fit their fields."""
    counts = [vectors, v["o_h"], v["o_w"]]
    v["o_cs"], v["o_ys"], v["o_xs"] = subtensor_strides(rng, counts, 9)
    if rng.random() < 0.6:
        v["o_xs"] = rng.choice((1, 1, 1, 2))
        v["o_ys"] = v["o_w"] * v["o_xs"] + rng.choice((0, 0, 1, 4))
        v["o_cs"] = v["o_ys"] * v["o_h"]
    return v["o_xs"] < 256


def _placed(rng: random.Random, config: MachineConfig, name: str, v: dict[str, int], vectors: int) -> Op | None:
    if v.get("i_ring", 0) > config.fm_words:
        return None
    relative = window_words(Op(name, v), channel_steps(v))
    relative = np.where(relative >= ADDRESS_MODULUS // 2, relative - ADDRESS_MODULUS, relative)
    v["i_addr"] = place(rng, config, int(relative.min()), int(relative.max())) if relative.size else 0
    last = int(axes((vectors, v["o_cs"]), (v["o_h"], v["o_ys"]), (v["o_w"], v["o_xs"])).max())
    v["o_addr"] = place(rng, config, 0, last)
    return Op(name, v | post(rng, config)) if v["i_addr"] >= 0 and v["o_addr"] >= 0 else None


def channel_steps(v: dict[str, int]) -> Cells:
    """The offsets of every channel vector that is read, groups included."""
    groups = -(-v["chunks"] // v["g_chunks"]) if v.get("g_chunks") else 1
    return axes((groups, v.get("g_step", 0)), (v["vectors"], v["i_cs"]))
