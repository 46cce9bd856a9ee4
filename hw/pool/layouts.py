"""What the parts of POOL hand to each other."""

from __future__ import annotations

from amaranth import signed, unsigned
from amaranth.lib import data

from hw.interfaces import FM_ADDRESS_BITS
from hw.post.activation import FINISH
from isa.config import MachineConfig

WORD_BITS = 29
"""Tap and parameter words are counted exactly: 2^16 + 2^12 * 2^16 + 2^16 is the most that fields can name."""


def ending_layout() -> data.StructLayout:
    """What the last stages need to know of an instruction; ``o_base``: output words before this channel vector."""
    return data.StructLayout({
        "pc": unsigned(32),
        "bypass": unsigned(1),
        "o_base": unsigned(FM_ADDRESS_BITS),
        **FINISH,
    })


def job_layout(config: MachineConfig) -> data.StructLayout:
    """One window on ``px_p`` pixels: what to do with its taps, which words it uses, where its pixels go.

    Output pixel ``p`` goes to ``o_base + address[p]``; the lanes in ``used`` are the lower ones, at least one.
    """
    return data.StructLayout({
        "mode": unsigned(2),
        "by_count": unsigned(1),
        "tap": unsigned(WORD_BITS),
        "param": unsigned(WORD_BITS),
        "used": unsigned(config.px_p),
        "address": data.ArrayLayout(FM_ADDRESS_BITS, config.px_p),
        "last": unsigned(1),
        "ending": ending_layout(),
    })


def pixel_layout(config: MachineConfig) -> data.StructLayout:
    """One finished pixel; ``last``: of its instruction."""
    return data.StructLayout({
        "sums": data.ArrayLayout(signed(32), config.ic_p),
        "param": unsigned(WORD_BITS),
        "address": unsigned(FM_ADDRESS_BITS),
        "last": unsigned(1),
        "ending": ending_layout(),
    })
