"""Which step counts cannot fit, told without planning them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from compiler.layers.eltwise import EltwiseLayer
from compiler.planning.operations import Group
from isa.config import MachineConfig


class WordBound:
    """Lower bounds on the feature-map words that a group takes in some number of steps, with ``held`` maps on chip in full.

    ``needed``: rows of each map.

    In the greatest of its steps a map gains at least an equal share of the rows that are needed of it, and its ring holds
    them. Results of element-wise layers may lie in the place of an operand, so they count nothing.

    If maps share words: in some step, all maps that a layer reads gain together at least an equal share of what is needed of
    them, and lie beside each other when it begins; and so what it makes when it ends.
    """

    def __init__(self, config: MachineConfig, group: Group, held: Collection[str], needed: Mapping[str, int]) -> None:
        self.words = config.fm_words - sum(
            group.vectors(config, name) * group.width(name) * group.tensors[name].height for name in held
        )  # fmt: skip
        in_place = {layer.output for layer in group.layers if isinstance(layer, EltwiseLayer)}
        row = {name: group.vectors(config, name) * group.width(name) for name in group.maps if name not in held}
        self.maps = [(needed[name], words) for name, words in row.items() if name not in in_place]
        size = {name: needed[name] * row.get(name, 0) for name in group.maps}
        self.together = max(
            max(sum(size[name] for name in {*group.sources(layer)}), size[layer.output]) for layer in group.layers
        )
        """Words of the maps that take the most at one time, with all their rows."""

    def least_words(self, steps: int) -> int:
        """If every map has words of its own."""
        return sum(-(-rows // steps) * row_words for rows, row_words in self.maps)

    def least_shared(self, steps: int) -> int:
        return -(-self.together // steps)

    def may_hold(self, steps: int, shared: bool = False) -> bool:
        """If so, then also more steps."""
        return (self.least_shared(steps) if shared else self.least_words(steps)) <= self.words
