"""The options of a machine: all that an import knows of a configuration."""

from __future__ import annotations

from typing import NamedTuple

from isa.config import MachineConfig


class Extras(NamedTuple):
    rows: bool = False
    """Whether the machine has ROW, which computes softmax and normalisation."""
    products: bool = False
    """Whether the machine has LOADW, which makes weights of maps for products of two activations."""
    long: int = 0
    """The channels of a word, by which maps of 16-bit activations are divided; 0 without activations of 16 bits (``act16``)."""

    @classmethod
    def of(cls, config: MachineConfig) -> Extras:
        return cls(config.build_rows, config.build_products, config.ic_p if config.act16 else 0)


NO_EXTRAS = Extras()
