"""A program that clears what earlier programs have left on chip, since neither reset nor an abort clears memories."""

from __future__ import annotations

from collections.abc import Iterator

from isa.codec import Op, encode
from isa.config import MachineConfig
from isa.instructions import Buffer, Region, Unit
from isa.program import Program

MOST = 4095
"""The most that a count of 12 bits holds."""
ZEROS = 64
"""The words of a parameter buffer that one LOADP clears, so that CONST need not be as large as the buffer."""


def clearing_program(config: MachineConfig) -> Program:
    """A program that writes zeros into every word of the feature maps and of the parameter buffers, and into every
    accumulator."""
    ops = [Op("START", {"config": config.hash}), *_feature_maps(config), *_parameters(config)]
    ops[-1] = Op(ops[-1].name, ops[-1].values, signal=frozenset({Unit.CONV}))
    ops += [*_accumulators(config), Op("END")]
    zeros = max(min(ZEROS, config.buffer_depth(b.name)) * config.buffer_dram_bytes(b.name) for b in Buffer)
    return Program(config, tuple(word for op in ops for word in encode(op)), bytes(zeros))


def _feature_maps(config: MachineConfig) -> Iterator[Op]:
    row = {"rows": 1, "step": config.ic_p, "run": config.ic_p, "d_xs": 1}
    for first in range(0, config.fm_words, MOST):
        yield Op("LOAD", {**row, "pixels": min(MOST, config.fm_words - first), "d_addr": first})


def _parameters(config: MachineConfig) -> Iterator[Op]:
    for buffer in Buffer:
        depth = config.buffer_depth(buffer.name)
        for first in range(0, depth, ZEROS):
            values = {"buffer": int(buffer), "region": int(Region.CONST), "dst": first, "count": min(ZEROS, depth - first)}
            yield Op("LOADP", values)


def _accumulators(config: MachineConfig) -> Iterator[Op]:
    """Instructions that write products of zeros: a row of one pixel group for each entry. All rows read the first words of the
    feature maps."""
    window = dict.fromkeys(("s_y", "s_x", "d_y", "d_x", "k_h", "k_w", "vectors", "chunks", "acc_out"), 1)
    for first in range(0, config.acc_depth, MOST):
        rows = min(MOST, config.acc_depth - first)
        size = {"i_h": rows, "o_h": rows, "i_w": config.px_p, "o_w": config.px_p, "a_addr": first}
        yield Op("CONV", window | size, wait=frozenset() if first else frozenset({Unit.LOAD}))
