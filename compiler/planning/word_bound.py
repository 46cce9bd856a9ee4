"""Tells which numbers of steps cannot fit, without planning them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from compiler.planning.operations import Group
from isa.config import MachineConfig


class WordBound:
    """Lower bounds on the feature-map words that a group takes in some number of steps, with ``held`` maps on chip in full.

    ``needed``: the rows of each map that are needed. In some step a map gains at least an equal share of them, and its ring
    holds these. Results of element-wise layers may lie in the place of an operand, so they do not count.

    Maps may also share words. In some step, all maps that a layer reads gain together at least an equal share of their rows,
    and lie beside each other when the step begins. The same holds for what the layer makes when the step ends.
    """

    def __init__(self, config: MachineConfig, group: Group, held: Collection[str], needed: Mapping[str, int]) -> None:
        self.words = config.fm_words - sum(
            group.vectors(config, name) * group.width(name) * group.tensors[name].height for name in held
        )  # fmt: skip
        in_place = {layer.output for layer in group.layers if layer.op.in_place}
        row = {name: group.vectors(config, name) * group.width(name) for name in group.maps if name not in held}
        self.maps = [(needed[name], words) for name, words in row.items() if name not in in_place]
        size = {name: needed[name] * row.get(name, 0) for name in group.maps}
        self.together = max(
            max(sum(size[name] for name in {*group.sources(layer)}), size[layer.output]) for layer in group.layers
        )
        """The words of the maps that take the most at one time, with all their rows."""

    def least_words(self, steps: int) -> int:
        """The fewest words if every map has words of its own."""
        return sum(-(-rows // steps) * row_words for rows, row_words in self.maps)

    def least_shared(self, steps: int) -> int:
        return -(-self.together // steps)

    def may_hold(self, steps: int, shared: bool = False) -> bool:
        """Whether this number of steps may fit. If it may, then so may any greater number."""
        return (self.least_shared(steps) if shared else self.least_words(steps)) <= self.words
