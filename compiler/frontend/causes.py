"""The first cause for which nodes are on the CPU: what keeps a node there often keeps its neighbours there too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import refusal
from compiler.frontend.model import Model, Node
from compiler.frontend.partition import MOVED_FOR_CPU, OPERANDS_ON_CPU, READ_ON_CPU, UNQUANTISED_FOR_CPU

_BEFORE = (OPERANDS_ON_CPU, *map(refusal, (general.quantised_input, general.input_or_sum, general.made_on_machine)))
"""Reasons that may come from the makers of a node's operands."""
_AFTER = (READ_ON_CPU, UNQUANTISED_FOR_CPU)
"""Reasons that come from the readers of a node's result."""


def first_causes(model: Model, reasons: Mapping[str, str]) -> dict[str, str]:
    """For each node on the CPU, the node (itself or another) whose reason keeps it there."""
    nodes = {node.name: node for node in model.nodes}
    makers, readers = model.producers(), model.consumers()

    def neighbours(node: Node) -> Iterable[str]:
        reason = reasons[node.name]
        made_by = [makers[name].name for name in node.reads() if name in makers]
        read_by = [reader.name for name in node.outputs for reader in readers.get(name, ())]
        if reason.startswith(_BEFORE):
            return made_by
        if reason.startswith(_AFTER):
            return read_by
        return [*made_by, *read_by] if reason.startswith(MOVED_FOR_CPU) else ()

    found: dict[str, str] = {}
    for name in reasons:
        path = [name]
        while path[-1] not in found:
            node = nodes.get(path[-1])
            onward = [n for n in neighbours(node) if n in reasons and n not in path] if node is not None else []
            if not onward:
                break
            path.append(onward[0])
        cause = found.get(path[-1], path[-1])
        found |= dict.fromkeys(path, cause)
    return found
