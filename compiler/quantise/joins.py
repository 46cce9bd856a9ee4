"""Joins whose parts have little in common: one scale cannot hold boxes in pixels and scores below one.

A join that only outputs read is left to the CPU, which joins floats. Each part then comes from the machine at its own scale.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.frontend.model import Model
from compiler.quantise.forms import STORED, Form, Forms
from compiler.quantise.statistics import Statistics

UNLIKE = 4.0
"""The ratio of two parts' ranges above which they are unlike; it costs two of the eight bits."""


def last_joins(forms: Forms, statistics: Mapping[str, Statistics]) -> frozenset[str]:
    """The names of joins that are left to the CPU."""
    found = set()
    for node in forms.model.nodes:
        if node.op_type == "Concat" and forms.of.get(node.name) is Form.STORED and _is_last(forms.model, node.output):
            reaches = [max(-statistics[name].low, statistics[name].high) for name in node.inputs if name in statistics]
            if len(reaches) == len(node.inputs) and max(reaches) > UNLIKE * min(reaches):
                found.add(node.name)
    return frozenset(found)


def _is_last(model: Model, name: str) -> bool:
    """Whether nothing computes with a tensor before it becomes an output."""
    readers = model.consumers()
    left = [name]
    while left:
        for node in readers.get(left.pop(), ()):
            if node.op_type not in STORED - {"MaxPool"}:
                return False
            left += node.outputs
    return True
