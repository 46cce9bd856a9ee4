"""Which step counts cannot fit, told without planning them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from compiler.layers.eltwise import EltwiseLayer
from compiler.planning.operations import Group
from isa.config import MachineConfig


class Room:
    """A lower bound on the feature-map words that a group takes in some number of steps, with ``held`` maps on chip in full.

    ``needed``: rows of each map.

    In the greatest of its steps a map gains at least an equal share of the rows that are needed of it, and its ring holds
    them. Results of element-wise layers may lie in the place of an operand, so they count nothing.
    """

    def __init__(self, config: MachineConfig, group: Group, held: Collection[str], needed: Mapping[str, int]) -> None:
        self.words = config.fm_words - sum(
            group.vectors(config, name) * group.width(name) * group.tensors[name].height for name in held
        )  # fmt: skip
        in_place = {layer.output for layer in group.layers if isinstance(layer, EltwiseLayer)}
        self.maps = [
            (needed[name], group.vectors(config, name) * group.width(name))
            for name in group.maps if name not in in_place and name not in held
        ]  # fmt: skip

    def least_words(self, steps: int) -> int:
        return sum(-(-rows // steps) * row_words for rows, row_words in self.maps)

    def may_hold(self, steps: int) -> bool:
        """If so, then also more steps."""
        return self.least_words(steps) <= self.words
