"""The ways that words go between the lanes of the units and the banks of the feature-map buffer, and how many go at a time.

Lanes that move few words share a way, which saves multiplexers. ``hw/buffers/feature_map.py`` builds the ways, and
``sim/cycle/walks.py`` counts what waiting on them costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isa.config import MachineConfig


@dataclass(frozen=True)
class Ways:
    """The ways that lanes share to the banks."""

    shared: bool
    """Whether all writes share a way, and so do the reads of SAVE, MISC and ROW. A machine of one phase shares neither: its
    units would wait for each other in every cycle."""
    slow_writers: bool
    """Whether CONV, POOL, MISC and ROW together write at most one word in a cycle. On a machine of one phase they then share a
    way."""
    serial_reads: bool
    """Whether SAVE, MISC and ROW together read at most one word in a cycle, so that their way carries no more."""

    @classmethod
    def of(cls, config: MachineConfig) -> Ways:
        shared = config.fm_phases > 1
        moved = Fraction(config.axi_bytes, config.ic_p)
        """The words that LOAD or SAVE moves in a cycle, at a beat in each."""
        misc = Fraction(1, config.misc_parts)
        row = Fraction(1, config.row_parts) if config.build_rows else Fraction(0)
        conv = Fraction(config.conv_ports * config.words_per_chunk, max(config.conv_parts, config.words_per_chunk))
        return cls(
            shared=shared,
            slow_writers=conv + Fraction(1, config.pool_parts) + misc + row <= 1,
            serial_reads=shared and config.build_misc and moved + 2 * misc + row <= 1,
        )
