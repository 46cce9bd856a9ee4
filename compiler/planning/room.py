"""Which step counts cannot fit, told without planning them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from compiler.planning.operations import Group
from isa.config import MachineConfig


class Room:
    """A lower bound on the feature-map words that a group takes in some number of steps, with ``held`` maps on chip in full.

    ``needed``: rows of each map.

    In some step, all maps that a layer reads gain together at least an equal share of the rows that are needed of them, and lie
    beside each other when it begins; and so what it makes when it ends. Other maps may share their words.
    """

    def __init__(self, config: MachineConfig, group: Group, held: Collection[str], needed: Mapping[str, int]) -> None:
        self.words = config.fm_words - sum(
            group.vectors(config, name) * group.width(name) * group.tensors[name].height for name in held
        )  # fmt: skip
        size = {
            name: 0 if name in held else needed[name] * group.vectors(config, name) * group.width(name) for name in group.maps
        }
        self.most = max(
            max(sum(size[name] for name in {*group.sources(layer)}), size[layer.output]) for layer in group.layers
        )
        """Words of the maps that take the most together, with all their rows."""

    def least_words(self, steps: int) -> int:
        """Beside the held maps."""
        return -(-self.most // steps)

    def may_hold(self, steps: int) -> bool:
        """If so, then also more steps."""
        return self.least_words(steps) <= self.words
