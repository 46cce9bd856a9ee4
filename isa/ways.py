"""How words go between the lanes of the units and the banks of the feature-map buffer: by which ways, and how many at a time.

Each rule here takes multiplexers away where words are so few that nobody waits for long; ``hw/buffers/feature_map.py`` builds
it, and ``sim/cycle/walks.py`` counts what it costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isa.config import MachineConfig

CHOICE = 4
"""Values that one LUT of six inputs chooses from."""


@dataclass(frozen=True)
class Ways:
    """What lanes have in common on the way to the banks."""

    shared: bool
    """All writes go one way, and the reads of SAVE and MISC another: in one phase they would stand in line."""
    slow_writers: bool
    """CONV, POOL and MISC write so seldom that one way takes all their words without making them wait for long."""
    serial_reads: bool
    """The way of SAVE and MISC carries one word in a cycle, not one of each phase: they do not read more."""
    fill: bool
    """The ways of CONV and POOL have ``pad_value`` for lanes that read nothing, as one more group of a phase that none of their
    lanes wants: there is an input left in the LUTs that choose among groups, and a LUT is saved for each bit of a lane."""
    joint_writes: bool
    """LOAD and MISC write one word in a cycle together: without a lane of their own for MISC, the word of a phase is
    chosen with a LUT less for each of its bits."""

    @classmethod
    def of(cls, config: MachineConfig) -> Ways:
        shared = config.fm_phases > 1
        moved = Fraction(config.axi_bytes, config.ic_p)
        """Words that LOAD or SAVE moves in a cycle, at a beat in each."""
        misc = Fraction(1, config.misc_parts)
        conv = Fraction(config.conv_ports * config.words_per_chunk, max(config.conv_parts, config.words_per_chunk))
        lanes = 1 + config.conv_ports + config.build_pool + config.build_misc
        return cls(
            shared=shared,
            slow_writers=conv + Fraction(1, config.pool_parts) + misc <= 1,
            fill=shared and (config.fm_banks // config.fm_phases - 1) % (CHOICE - 1) > 0,
            serial_reads=shared and config.build_misc and moved + 2 * misc <= 1,
            joint_writes=shared and config.build_misc and lanes > CHOICE and lanes % CHOICE == 1 and moved + misc <= 1,
        )
