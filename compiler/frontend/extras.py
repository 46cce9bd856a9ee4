"""What a machine may have beyond the usual: all that an import knows of a configuration."""

from __future__ import annotations

from typing import NamedTuple

from isa.config import MachineConfig


class Extras(NamedTuple):
    rows: bool = False
    """ROW, which computes softmax and normalisation."""
    products: bool = False
    """LOADW, which makes weights of maps: products of two activations."""
    long: int = 0
    """With activations of 16 bits (``act16``): the channels of a word, which their maps are divided by."""

    @classmethod
    def of(cls, config: MachineConfig) -> Extras:
        return cls(config.build_rows, config.build_products, config.ic_p if config.act16 else 0)


NO_EXTRAS = Extras()
