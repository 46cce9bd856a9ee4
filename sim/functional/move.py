"""LOAD, LOADP and SAVE: moves between DRAM and the buffers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from numpy.lib.stride_tricks import as_strided

from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import Buffer
from sim.functional.addresses import Nest, constant, fm_modulus, grid, steps
from sim.functional.state import Bytes, Context

FEATURE_MAP = "FEATURE_MAP"
"""The kind of DRAM traffic of feature maps. The other kinds are the names of the parameter buffers."""
FLIP = np.uint8(0x80)


def load_words(f: SimpleNamespace, config: MachineConfig) -> Nest:
    vectors = -(-f.run // config.ic_p)
    return [constant(f.d_addr), steps(f.rows, f.d_ys), steps(f.pixels, f.d_xs), steps(vectors, f.d_cs)]


def save_words(f: SimpleNamespace, config: MachineConfig) -> Nest:
    vectors = -(-f.run // config.ic_p)
    return [constant(f.s_addr), steps(f.rows, f.s_ys), steps(f.pixels, f.s_xs), steps(vectors, f.s_cs)]


def row_offsets(f: SimpleNamespace) -> list[int]:
    return [f.offset + row * f.row_stride for row in range(f.rows)]


def row_addresses(context: Context, f: SimpleNamespace) -> list[int]:
    return [context.dram_address(f.region, offset) for offset in row_offsets(f)]


def fetched_runs(f: SimpleNamespace) -> tuple[int, int, int]:
    """What LOAD fetches of each row: the runs, the bytes from one to the next, and the bytes of each."""
    if f.step > f.run:
        return (f.pixels if f.valid else 0), f.step, f.run
    return (1 if f.valid else 0), 0, f.valid


def load(context: Context, f: SimpleNamespace) -> None:
    state, config = context.state, context.config
    context.require_words(load_words(f, config), "destination")
    runs, distance, length = fetched_runs(f)
    addresses = row_addresses(context, f)
    context.require_region(f.region, row_offsets(f), (runs - 1) * distance + length if runs else 0)
    for address in addresses if runs else ():
        context.require_dram(address, (runs - 1) * distance + length, Fault.READ_ERROR)
    context.dram_read[FEATURE_MAP] += f.rows * runs * length

    lanes = np.stack([pixels_of_row(context, f, address) for address in addresses])
    state.write_words(grid(*load_words(f, config), modulus=fm_modulus(config)), lanes.view(np.int8))


def pixels_of_row(context: Context, f: SimpleNamespace, address: int) -> Bytes:
    """The channel vectors of each pixel of a row that begins at a DRAM address, one after the other."""
    runs, distance, length = fetched_runs(f)
    vectors = -(-f.run // context.config.ic_p)
    lanes = np.full((f.pixels, vectors * context.config.ic_p), f.fill & 0xFF, dtype=np.uint8)
    logical = np.full((f.pixels - 1) * f.step + f.run, f.fill & 0xFF, dtype=np.uint8)
    if runs:
        wanted = (runs - 1) * distance + min(length, logical.size - f.lead)
        source = context.memory[address : address + max(0, wanted)]
        logical[f.lead : f.lead + source.size] = source ^ FLIP if f.flip else source
    lanes[:, : f.run] = as_strided(logical, (f.pixels, f.run), (f.step, 1))
    return lanes


def save(context: Context, f: SimpleNamespace) -> None:
    state, config = context.state, context.config
    context.require_words(save_words(f, config), "source")
    addresses = row_addresses(context, f)
    context.require_region(f.region, row_offsets(f), (f.pixels - 1) * f.step + f.run)
    for address in addresses:
        context.require_dram(address, (f.pixels - 1) * f.step + f.run, Fault.WRITE_ERROR)
    context.dram_written[FEATURE_MAP] += f.rows * f.pixels * f.run

    words = grid(*save_words(f, config), modulus=fm_modulus(config))[0]
    pixels: Bytes = state.feature_map[words].reshape(f.rows, f.pixels, -1)[:, :, : f.run].view(np.uint8)
    if f.flip:
        pixels = pixels ^ FLIP
    for row, address in enumerate(addresses):
        as_strided(context.memory[address:], (f.pixels, f.run), (f.step, 1))[:] = pixels[row]


def widened(words: Bytes, beat: int) -> Bytes:
    """Signed bytes from beats of numbers of four bits. Each beat becomes two beats of bytes."""
    both = np.stack([words << 4, words & 0xF0], axis=1).view(np.int8) >> 4
    return both.reshape(len(words), 2, -1, beat).swapaxes(1, 2).reshape(len(words), -1).view(np.uint8)


def loadp(context: Context, f: SimpleNamespace) -> None:
    config = context.config
    buffer = Buffer(f.buffer)
    context.require_entries(f.dst, f.count, config.buffer_depth(buffer.name), f"{buffer.name} word")
    word_bytes, pitch = config.buffer_word_bytes(buffer.name), config.buffer_dram_bytes(buffer.name, f.int4)
    address = context.dram_address(f.region, f.offset)
    context.require_region(f.region, [f.offset], f.count * pitch)
    context.require_dram(address, f.count * pitch, Fault.READ_ERROR)
    context.dram_read[buffer.name] += f.count * pitch
    source = context.memory[address : address + f.count * pitch].reshape(f.count, pitch)
    if f.int4:
        source = widened(source, config.axi_bytes)
    context.state.buffers[buffer][f.dst : f.dst + f.count] = source[:, :word_bytes]
