"""Random LOAD, LOADP and SAVE instructions, and the LOADs that define what another instruction reads."""

from __future__ import annotations

import random
from collections.abc import Iterator

from isa.capabilities import built_buffers
from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import WRITABLE, Buffer, Region
from sim.random.draw import int8, log_uniform, longest_load, place, subtensor_strides
from sim.random.footprint import Cells, Dram, Space, axes

RECORDS_SHARE = 4
"""The part of DRAM, 1 / 4, at the base of CONST that is filled with sensible requantisation records."""
EIGHTHS = {Buffer.PARAM: (0, 2), Buffer.POOL_PARAM: (0, 2), Buffer.EXP: (2, 3), Buffer.NORM: (3, 4)}
"""The eighths of DRAM, from the base of CONST on, between which sensible contents of a buffer lie."""

INT4_SHARE = 0.3


def load(rng: random.Random, config: MachineConfig, dram: Dram, budget: int) -> Op | None:
    """A LOAD that fills at most ``budget`` words: dense rows, overlapping windows, single pixels, or nothing but fill."""
    run = log_uniform(rng, 1, 4 * config.ic_p)
    v = {"run": run, "fill": int8(rng), "flip": rng.randrange(2)}
    vectors = -(-run // config.ic_p)
    v["rows"] = log_uniform(rng, 1, max(1, min(budget // vectors, 12)))
    v["pixels"] = log_uniform(rng, 1, max(1, min(budget // (vectors * v["rows"]), 40)))
    v["step"] = run
    kind = rng.choice(("dense", "dense", "window", "gather"))
    if kind == "window":
        v["run"] = run = min(run, config.window_bytes)
        v["step"] = rng.randint(0 if rng.random() < 0.1 else 1, run)
    if kind == "gather":
        v["step"] = run + log_uniform(rng, 1, 40)
    else:
        v["lead"] = rng.choice((0, 0, rng.randint(0, 3 * run)))
    if kind == "gather":
        v["valid"] = rng.choice((0, 1, 1, (1 << 28) - 1))
        bytes_in_row = (v["pixels"] - 1) * v["step"] + run
    else:
        needed = max(0, (v["pixels"] - 1) * v["step"] + run - v["lead"])
        v["valid"] = rng.choice((needed, needed, needed, rng.randint(0, needed), needed + rng.randint(0, 40), 0))
        bytes_in_row = v["valid"]
    v |= dram_rows(rng, config, dram, v["rows"], max(1, bytes_in_row), separate=False)
    v["d_ys"], v["d_xs"], v["d_cs"] = subtensor_strides(rng, [v["rows"], v["pixels"], vectors], 9)
    last = int(axes((v["rows"], v["d_ys"]), (v["pixels"], v["d_xs"]), (vectors, v["d_cs"])).max())
    v["d_addr"] = place(rng, config, 0, last)
    return Op("LOAD", v) if v["d_xs"] < 256 and v["d_addr"] >= 0 and "offset" in v else None


def save(rng: random.Random, config: MachineConfig, dram: Dram, budget: int) -> Op | None:
    """A SAVE of at most ``budget`` words."""
    v = {"run": log_uniform(rng, 1, 4 * config.ic_p), "flip": rng.randrange(2)}
    vectors = -(-v["run"] // config.ic_p)
    v["rows"] = log_uniform(rng, 1, max(1, min(budget // vectors, 12)))
    v["pixels"] = log_uniform(rng, 1, max(1, min(budget // (vectors * v["rows"]), 40)))
    v["step"] = v["run"] + rng.choice((0, 0, log_uniform(rng, 1, 40)))
    v |= dram_rows(rng, config, dram, v["rows"], (v["pixels"] - 1) * v["step"] + v["run"], separate=True)
    v["s_ys"], v["s_xs"], v["s_cs"] = (
        subtensor_strides(rng, [v["rows"], v["pixels"], vectors], 9)
        if rng.random() < 0.8
        else [rng.randint(0, 20) for _ in range(3)]
    )
    last = int(axes((v["rows"], v["s_ys"]), (v["pixels"], v["s_xs"]), (vectors, v["s_cs"])).max())
    v["s_addr"] = place(rng, config, 0, last)
    return Op("SAVE", v) if v["s_xs"] < 256 and v["s_addr"] >= 0 and "offset" in v else None


def defining(rng: random.Random, config: MachineConfig, dram: Dram, space: Space, missing: Cells) -> Iterator[Op]:
    """LOADs or LOADPs that write at least the missing cells of a space. They may write neighbours, too."""
    words = missing // config.chunks_per_word if space is Space.FM else missing
    gap = 24 if space is Space.FM else 4
    start = previous = int(words[0])
    for word in [*words.tolist(), None]:
        if word is not None and word - previous <= gap:
            previous = word
            continue
        if space is Space.FM:
            yield from _fill(rng, config, dram, start, previous - start + 1)
        else:
            yield _parameters(rng, config, dram, Buffer[space.name], start, previous - start + 1)
        if word is not None:
            start = previous = word


def loadp(rng: random.Random, config: MachineConfig, dram: Dram) -> Op:
    buffer = rng.choice(built_buffers(config))
    depth = config.buffer_depth(buffer.name)
    count = log_uniform(rng, 1, min(depth, 12, dram.size // RECORDS_SHARE // config.buffer_dram_bytes(buffer.name)))
    return _parameters(rng, config, dram, buffer, rng.randint(0, depth - count), count)


def _fill(rng: random.Random, config: MachineConfig, dram: Dram, start: int, count: int) -> Iterator[Op]:
    """LOADs of random bytes into neighbouring words, mostly whole words. What would take too long is filled with one value."""
    while count > 0:
        pixels = min(count, 4000)
        run = config.ic_p if rng.random() < 0.8 else rng.randint(1, config.ic_p)
        v = {"rows": 1, "pixels": pixels, "run": run, "step": run, "valid": min(pixels * run, longest_load(config))}
        v |= {"fill": int8(rng), "d_xs": 1, "d_addr": start}
        v |= dram_rows(rng, config, dram, 1, pixels * run, separate=False)
        yield Op("LOAD", v)
        start, count = start + pixels, count - pixels


def _parameters(rng: random.Random, config: MachineConfig, dram: Dram, buffer: Buffer, dst: int, count: int) -> Op:
    size = count * config.buffer_dram_bytes(buffer.name)
    begin, end = EIGHTHS.get(buffer, (0, 2))
    region = Region.CONST if buffer in EIGHTHS else rng.choice(list(Region))
    room = (end - begin) * dram.size // 8 if region is Region.CONST else dram.size - dram.bases[region]
    offset = begin * dram.size // 8 + rng.randint(0, max(0, room - size)) // config.axi_bytes * config.axi_bytes
    int4 = int(buffer is Buffer.WEIGHT and rng.random() < INT4_SHARE)
    return Op("LOADP", {
        "offset": offset, "dst": dst, "count": count, "buffer": int(buffer), "region": int(region), "int4": int4,
    })  # fmt: skip


def dram_rows(
    rng: random.Random, config: MachineConfig, dram: Dram, rows: int, row_bytes: int, *, separate: bool
) -> dict[str, int]:
    """A region, an offset and a row stride so that all rows lie in DRAM; empty if they do not fit. ``separate``: the rows are
    written, so they do not overlap, and lie where writes are allowed."""
    region = rng.choice(list(Region))
    if separate:
        region = WRITABLE[region // 2]
    stride = row_bytes + rng.choice((0, 0, log_uniform(rng, 1, 100)))
    if not separate and rng.random() < 0.2:
        stride = rng.randint(0, row_bytes)
    span = (rows - 1) * stride + row_bytes
    room = dram.size - dram.bases[region] - span
    if room < 0:
        return {}
    offset = room if rng.random() < 0.05 else rng.randint(0, room)
    if rng.random() < 0.3:
        offset = offset // config.axi_bytes * config.axi_bytes
    if rows > 1 and rng.random() < 0.15:
        return {"region": int(region), "offset": offset + (rows - 1) * stride, "row_stride": -stride % (1 << 32)}
    return {"region": int(region), "offset": offset, "row_stride": stride}
