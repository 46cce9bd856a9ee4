"""The words that an instruction reads and writes: the basis of legality and of dependency tokens.

The module is written from ``docs/reference/semantics.md`` alone, independently of the simulators. Every memory is a *space* of
numbered cells. A feature-map cell is one output chunk's part of a word (a whole word unless ``oc_p < ic_p``), a DRAM cell a
byte, an accumulator cell one pixel lane of an entry, and a parameter cell a word.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import MISC_ALONE, Activation, Buffer, PoolMode, Region, RowMode

Cells = npt.NDArray[np.int64]
ADDRESS_MODULUS = 1 << 24


class Space(enum.Enum):
    FM = "feature maps"
    DRAM = "DRAM"
    ACC = "accumulators"
    WEIGHT = "weights"
    PARAM = "parameters"
    TAPS = "taps"
    POOL_PARAM = "POOL parameters"
    TABLE = "tables"
    EXP = "exponentials"
    NORM = "normalisation words"


@dataclass(frozen=True)
class Dram:
    """The memory that a program is made for: the base of each region, and the bytes in all."""

    bases: Mapping[Region, int]
    size: int


@dataclass
class Footprint:
    reads: dict[Space, Cells] = field(default_factory=dict)
    writes: dict[Space, Cells] = field(default_factory=dict)
    repeats: bool = False
    """Whether some cell is written more than once."""
    conflicts: bool = False
    """Whether an output overlaps an operand other than in place."""


class OutOfRange(Exception):
    """Raised for an instruction that touches cells that do not exist."""


def space_size(space: Space, config: MachineConfig, dram: Dram) -> int:
    match space:
        case Space.FM:
            return config.fm_words * config.chunks_per_word
        case Space.DRAM:
            return dram.size
        case Space.ACC:
            return config.acc_depth * config.px_p
        case _:
            return config.buffer_depth(space.name)


def footprint(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    """Returns the cells read and written; raises ``OutOfRange`` if one of them does not exist."""
    result = touched(op, config, dram)
    for space, cells in beyond(result, config, dram):
        raise OutOfRange(f"{op.name}: {space.value} {cells[0]}..{cells[-1]}")
    return result


def touched(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    """The cells read and written, whether they exist or not."""
    result = {
        "LOAD": _load, "LOADP": _loadp, "SAVE": _save, "CONV": _conv, "POOL": _pool, "MISC": _misc,
        "ROW": _row, "LOADW": _loadw,
    }[op.name](op, config, dram)  # fmt: skip
    for cells_of in (result.reads, result.writes):
        for space, cells in cells_of.items():
            cells_of[space] = distinct(cells)
    return result


def beyond(result: Footprint, config: MachineConfig, dram: Dram) -> Iterator[tuple[Space, Cells]]:
    """Yields the spaces of which cells are touched that do not exist, and all cells touched there."""
    for cells_of in (result.reads, result.writes):
        for space, cells in cells_of.items():
            if cells.size and (cells[0] < 0 or cells[-1] >= space_size(space, config, dram)):
                yield space, cells


def distinct(cells: Cells) -> Cells:
    """The distinct cells in ascending order. ``np.unique`` makes a hash table, which takes ten times as long for so few."""
    ordered: Cells = np.sort(cells, axis=None)
    first = np.ones(ordered.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def axes(*steps: tuple[int, int]) -> Cells:
    """All sums of ``n * stride`` over loops given as (count, stride), the first loop outermost, in order."""
    total: Cells = np.zeros(1, np.int64)
    for count, stride in steps:
        total = (total[:, None] + np.arange(count, dtype=np.int64)[None, :] * stride).reshape(-1)
    return total


def window_words(op: Op, channel_steps: Cells) -> Cells:
    """The words that CONV or POOL reads, relative to ``i_addr``. ``channel_steps``: the offsets of all channel vectors."""
    oy, ky = np.arange(op["o_h"])[:, None], np.arange(op["k_h"])[None, :]
    iy = oy * op["s_y"] - op["pad_t"] + ky * op["d_y"]
    rows = op["i_off"] + oy * op["i_ys"] + ky * op["t_ys"]
    rows = rows % op["i_ring"] if op["i_ring"] else rows % ADDRESS_MODULUS
    rows = distinct(rows[(iy >= 0) & (iy < op["i_h"])])
    ix = np.arange(op["o_w"])[:, None] * op["s_x"] - op["pad_l"] + np.arange(op["k_w"])[None, :] * op["d_x"]
    columns = distinct(ix[(ix >= 0) & (ix < op["i_w"])])
    words = rows[:, None, None] + columns[None, :, None] + distinct(channel_steps)[None, None, :]
    return distinct(words % ADDRESS_MODULUS)


def taps_counted(op: Op) -> set[int]:
    """The different numbers of taps in a window that are not padding, over all output pixels."""
    iy = np.arange(op["o_h"])[:, None] * op["s_y"] - op["pad_t"] + np.arange(op["k_h"])[None, :] * op["d_y"]
    ix = np.arange(op["o_w"])[:, None] * op["s_x"] - op["pad_l"] + np.arange(op["k_w"])[None, :] * op["d_x"]
    rows = set(((iy >= 0) & (iy < op["i_h"])).sum(axis=1).tolist())
    columns = set(((ix >= 0) & (ix < op["i_w"])).sum(axis=1).tolist())
    return {r * c for r in rows for c in columns}


def row_starts(op: Op, base: int, config: MachineConfig) -> Cells:
    """The DRAM addresses of the rows of a LOAD or SAVE."""
    rows = np.arange(op["rows"], dtype=np.int64) * op["row_stride"] + op["offset"]
    addresses = base + rows % (1 << 32)
    # Bases are small, so that nothing wraps where addresses are as wide as these numbers.
    return addresses % (1 << config.axi_addr_bits) if config.axi_addr_bits < 63 else addresses


def _words(words: Cells, config: MachineConfig) -> Cells:
    """All cells of these feature-map words."""
    words = distinct(words % ADDRESS_MODULUS)
    return axes_add(words * config.chunks_per_word, config.chunks_per_word)


def axes_add(cells: Cells, count: int) -> Cells:
    return (cells[:, None] + np.arange(count)[None, :]).reshape(-1)


def _load(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    starts, data = row_starts(op, dram.bases[Region(op["region"])], config), _bytes_of_row(op)
    vectors = -(-op["run"] // config.ic_p)
    written = op["d_addr"] + axes((op["rows"], op["d_ys"]), (op["pixels"], op["d_xs"]), (vectors, op["d_cs"]))
    result = Footprint({Space.DRAM: (starts[:, None] + data[None, :]).reshape(-1)}, {Space.FM: _words(written, config)})
    result.repeats = distinct(written).size != written.size
    return result


def _bytes_of_row(op: Op) -> Cells:
    """The bytes that LOAD fetches of a row, counted from the row's first byte."""
    if op["step"] > op["run"]:
        return axes((op["pixels"], op["step"]), (op["run"], 1)) if op["valid"] else np.zeros(0, np.int64)
    return np.arange(op["valid"], dtype=np.int64)


def _loadw(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    start = dram.bases[Region(op["region"])] + op["offset"]
    inputs, outputs = (op["run"], op["pixels"]) if op["turned"] else (op["pixels"], op["run"])
    vectors, chunks = -(-inputs // config.ic_p), -(-outputs // config.oc_p)
    weights = op["w_addr"] + axes((chunks, vectors if op["turned"] else op["w_step"]), (vectors, 1))
    result = Footprint({Space.DRAM: start + _bytes_of_row(op)})
    result.writes = {Space.WEIGHT: weights, Space.PARAM: op["p_addr"] + np.arange(chunks)}
    result.repeats = distinct(weights).size != weights.size
    return result


def _loadp(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    buffer = Buffer(op["buffer"]).name
    start = dram.bases[Region(op["region"])] + op["offset"]
    source = np.arange(op["count"] * config.buffer_dram_bytes(buffer, bool(op["int4"])), dtype=np.int64) + start
    return Footprint({Space.DRAM: source}, {Space[buffer]: op["dst"] + np.arange(op["count"])})


def _save(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    starts = row_starts(op, dram.bases[Region(op["region"])], config)
    target = (starts[:, None] + axes((op["pixels"], op["step"]), (op["run"], 1))[None, :]).reshape(-1)
    vectors = -(-op["run"] // config.ic_p)
    words = op["s_addr"] + axes((op["rows"], op["s_ys"]), (op["pixels"], op["s_xs"]), (vectors, op["s_cs"]))
    result = Footprint({Space.FM: _words(words, config)}, {Space.DRAM: target})
    result.repeats = distinct(target).size != target.size
    return result


def surplus_lanes(op: Op, config: MachineConfig) -> Cells:
    """The accumulators of pixel lanes beyond the last pixel. An instruction that stores sums may leave anything there."""
    pixels = op["o_h"] * op["o_w"]
    pitch = -(-pixels // config.px_p) * config.px_p
    return op["a_addr"] * config.px_p + axes((op["chunks"], pitch), (pitch - pixels, 1)) + pixels


def _conv(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    chunks = op["chunks"]
    beats = op["k_h"] * op["k_w"] * op["vectors"]
    groups = np.arange(chunks) // op["g_chunks"] * op["g_step"] if op["g_chunks"] else np.zeros(1, np.int64)
    steps = (distinct(groups)[:, None] + np.arange(op["vectors"])[None, :] * op["i_cs"]).reshape(-1)
    result = Footprint({Space.FM: _words(op["i_addr"] + window_words(op, steps), config)})
    result.reads[Space.WEIGHT] = op["w_addr"] + np.arange(chunks * beats // (1 + op["x16"]))
    pixels = op["o_h"] * op["o_w"]
    pitch = -(-pixels // config.px_p) * config.px_p
    lanes = op["a_addr"] * config.px_p + axes((chunks, pitch), (pixels, 1))
    if op["acc_in"]:
        result.reads[Space.ACC] = lanes
    if op["acc_out"]:
        result.writes[Space.ACC] = lanes
        return result
    result.reads[Space.PARAM] = op["p_addr"] + np.arange(chunks)
    _table(op, result)
    cells = []
    bytes_ = 1 + op["y16"]
    for k in range(chunks):
        parts = config.chunks_per_word
        first, count = (k // parts, 1) if parts > 1 else (k * config.words_per_chunk, config.words_per_chunk)
        for vector in range(first * bytes_, (first + count) * bytes_):
            words = op["o_addr"] + axes((op["o_h"], op["o_ys"]), (op["o_w"], op["o_xs"])) + vector * op["o_cs"]
            cells.append(words % ADDRESS_MODULUS * parts + k % parts)
    _outputs(result, np.concatenate(cells))
    return result


def _pool(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    vectors = np.arange(op["vectors"])
    result = Footprint({Space.FM: _words(op["i_addr"] + window_words(op, vectors * op["i_cs"]), config)})
    if op["mode"] != PoolMode.MAX:
        counts = sorted(taps_counted(op)) if op["by_count"] else [0]
        parameters = op["p_addr"] + vectors[:, None] * op["p_step"] + np.array(counts)[None, :]
        result.reads[Space.POOL_PARAM] = parameters.reshape(-1)
    if op["mode"] == PoolMode.DEPTHWISE:
        taps = np.arange(op["k_h"] * op["k_w"])
        result.reads[Space.TAPS] = (op["t_addr"] + vectors[:, None] * op["t_step"] + taps[None, :]).reshape(-1)
    _table(op, result)
    words = op["o_addr"] + axes((op["vectors"], op["o_cs"]), (op["o_h"], op["o_ys"]), (op["o_w"], op["o_xs"]))
    _outputs(result, axes_add(words % ADDRESS_MODULUS * config.chunks_per_word, config.chunks_per_word))
    return result


def _misc(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    streams = {s: op[f"{s}_addr"] + axes(*((op[f"n{j}"], op[f"{s}_s{j}"]) for j in range(5))) for s in "abo"}
    streams = {s: words % ADDRESS_MODULUS for s, words in streams.items()}
    operands = [streams["a"]] if op["mode"] in MISC_ALONE else [streams["a"], streams["b"]]
    result = Footprint({Space.FM: _words(np.concatenate(operands), config)}, {Space.FM: _words(streams["o"], config)})
    _table(op, result)
    out, counts = np.unique(streams["o"], return_counts=True)
    result.repeats = bool((counts > 1).any())
    for words in operands:
        shared = np.isin(words, out)
        if shared.any():
            in_place = np.array_equal(words[shared], streams["o"][shared])
            once = distinct(words[shared]).size == shared.sum() and not result.repeats
            result.conflicts |= not (in_place and once)
    return result


def _row(op: Op, config: MachineConfig, dram: Dram) -> Footprint:
    a, o = (
        op[f"{s}_addr"] + axes((op["n0"], op[f"{s}_s0"]), (op["n1"], op[f"{s}_s1"]), (op["words"], op[f"{s}_cs"])) for s in "ao"
    )
    result = Footprint({Space.FM: _words(a, config)})
    if op["mode"] == RowMode.SOFTMAX:
        result.reads[Space.EXP] = np.arange(256)
    else:
        result.reads[Space.NORM] = op["p_addr"] + np.arange(op["words"])
    _outputs(result, axes_add(o % ADDRESS_MODULUS * config.chunks_per_word, config.chunks_per_word))
    return result


def _table(op: Op, result: Footprint) -> None:
    if op["act"] == Activation.TABLE:
        result.reads[Space.TABLE] = np.array([op["table"]])


def _outputs(result: Footprint, cells: Cells) -> None:
    result.writes[Space.FM] = cells
    result.repeats = distinct(cells).size != cells.size
    result.conflicts = bool(np.isin(result.reads[Space.FM], cells).any())
