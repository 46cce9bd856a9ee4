"""LOADW: makes the pixels of a map weights of CONV, and their sums biases."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import Buffer
from sim.functional.addresses import MODULUS, Nest, constant, grid, steps
from sim.functional.move import FEATURE_MAP, fetched_runs, pixels_of_row
from sim.functional.state import Context


def chunks_of(f: SimpleNamespace, config: MachineConfig) -> int:
    """The chunks of outputs that get weights."""
    outputs: int = f.pixels if f.turned else f.run
    return -(-outputs // config.oc_p)


def input_vectors(f: SimpleNamespace, config: MachineConfig) -> int:
    """The words of weights of each chunk."""
    inputs: int = f.run if f.turned else f.pixels
    return -(-inputs // config.ic_p)


def weight_words(f: SimpleNamespace, config: MachineConfig) -> Nest:
    """The words of weights: of each input vector, those of all chunks."""
    vectors = input_vectors(f, config)
    step = vectors if f.turned else f.w_step
    return [constant(f.w_addr), steps(vectors, 1), steps(chunks_of(f, config), step)]


def loadw(context: Context, f: SimpleNamespace) -> None:
    config, buffers = context.config, context.state.buffers
    chunks, vectors = chunks_of(f, config), input_vectors(f, config)
    words = weight_words(f, config)
    context.require_buffer(words, config.weight_depth, "WEIGHT word")
    context.require_entries(f.p_addr, chunks, config.param_depth, "PARAM word")
    runs, distance, length = fetched_runs(f)
    fetched = (runs - 1) * distance + length if runs else 0
    address = context.dram_address(f.region, f.offset)
    context.require_region(f.region, [f.offset], fetched)
    context.require_dram(address, fetched, Fault.READ_ERROR)
    context.dram_read[FEATURE_MAP] += runs * length

    pixels = pixels_of_row(context, f, address).view(np.int8)
    outputs, inputs = chunks * config.oc_p, vectors * config.ic_p
    weights = np.full((outputs, inputs), f.fill, np.int8)
    if f.turned:
        weights[: f.pixels] = pixels
    else:
        weights[:, : f.pixels] = pixels[:, :outputs].T
    by_word = weights.reshape(chunks, config.oc_p, vectors, config.ic_p).transpose(2, 0, 3, 1)
    places = grid(*words, modulus=MODULUS).reshape(-1)
    buffers[Buffer.WEIGHT][places] = by_word.reshape(len(places), -1).view(np.uint8)
    sums = weights.sum(axis=1, dtype=np.int64) - inputs * f.w_zp
    records = np.stack([-f.x_zp * sums, np.full_like(sums, f.scale)], axis=1).astype("<u4")
    buffers[Buffer.PARAM][f.p_addr : f.p_addr + chunks] = records.reshape(chunks, -1).view(np.uint8)
