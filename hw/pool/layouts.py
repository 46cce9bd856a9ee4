"""What the parts of POOL hand to each other."""

from __future__ import annotations

from amaranth import signed, unsigned
from amaranth.lib import data

from hw.interfaces import TICKET_BITS, BufferRead
from hw.post.activation import FINISH
from isa.config import MachineConfig

WORD_BITS = 29
"""Tap and parameter words are counted exactly: 2^16 + 2^12 * 2^16 + 2^16 is the most that fields can name."""

REDUCTION_LAYOUT = data.StructLayout({
    "ticket": unsigned(TICKET_BITS),
    "mode": unsigned(2),
    "by_count": unsigned(1),
    "t_addr": unsigned(16),
    "t_step": unsigned(16),
    "p_addr": unsigned(16),
    "p_step": unsigned(16),
    "w_zp": signed(8),
})
"""The fields of an instruction that its taps need."""

FINISH_LAYOUT = data.StructLayout({"ticket": unsigned(TICKET_BITS), "bypass": unsigned(1), **FINISH})
"""The fields of an instruction that its results need; ``bypass``: they are maxima."""


def part_bits(config: MachineConfig) -> int:
    """Bits that number the parts of a pixel."""
    return (config.pool_parts - 1).bit_length()


def param_read(config: MachineConfig) -> BufferRead:
    """A part of a parameter word: the records of the lanes that are finished in a cycle; its number comes first."""
    return BufferRead(part_bits(config) + (config.pool_param_depth - 1).bit_length(), 64 * config.pool_finish)


def pixel_layout(config: MachineConfig) -> data.StructLayout:
    """Part ``part`` of a reduced pixel, with the parameter word that belongs to it; ``last``: of its instruction."""
    return data.StructLayout({
        "sums": data.ArrayLayout(signed(32), config.pool_finish),
        "part": unsigned(part_bits(config)),
        "param": unsigned(WORD_BITS),
        "last": unsigned(1),
    })
