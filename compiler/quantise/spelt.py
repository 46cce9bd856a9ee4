"""Functions that a model spells out with squares, roots and exponentials, whose values differ by orders of magnitude.

A layer normalisation is ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div. A softmax is ReduceMax, Sub, Exp, ReduceSum, Div. The
magnitude of a spectrum is Pow, Add, Sqrt. Eight bits cannot hold squares, nor one row beside rows of other magnitudes.
``compiler.quantise.refine`` measures whether these nodes stay in float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from compiler.frontend.constraints.elementwise import UNARY
from compiler.frontend.model import Model, Node
from compiler.quantise.forms import BINARY, Forms, activations_of

REDUCTIONS = {"ReduceMean", "ReduceSum", "ReduceMax"}
STEEP = {"Sqrt", "Reciprocal", "Exp", "Log", "Div", "Pow"}
"""Functions that make large differences of small ones."""
_MOVED = {"Reshape", "Squeeze", "Unsqueeze", "Transpose", "Slice"}
_WITHIN = REDUCTIONS | BINARY | {*UNARY} | _MOVED


def spelt_out(forms: Forms) -> frozenset[str]:
    """The names of all nodes of such functions that have a quantised form.

    The operators of elements that follow a reduction belong to a function if one of them is steep. A root and the squares that
    are added for it belong to one. So does a node that reads the same tensors and whose result only the function reads.
    """
    model = forms.model
    nodes = {node.name: node for node in model.nodes if node.name in forms.of and node.op_type in _WITHIN}
    readers, makers = model.consumers(), model.producers()

    def behind(node: Node) -> list[Node]:
        return [each for name in node.outputs for each in readers.get(name, ()) if each.name in nodes]

    def added(node: Node) -> list[Node]:
        sources = [makers[name] for name in activations_of(model, node) if name in makers]
        return [each for each in sources if each.name in nodes and (each.op_type == "Add" or _is_square(model, each))]

    found: dict[str, Node] = {}
    for node in nodes.values():
        if node.op_type in REDUCTIONS and node.name not in found:
            part = _reached(behind(node), behind)
            if any(_is_steep(model, each) for each in part.values()):
                found |= {node.name: node} | part
        elif node.op_type == "Sqrt":
            part = _reached(added(node), added)
            if any(_is_square(model, each) for each in part.values()):
                found |= {node.name: node} | part
    read = {name for node in found.values() for name in activations_of(model, node)}
    for node in nodes.values():
        alone = node.output not in model.outputs and all(each.name in found for each in readers.get(node.output, ()))
        if node.op_type not in _MOVED and alone and read.issuperset(activations_of(model, node)):
            found[node.name] = node
    return frozenset(found)


def _is_steep(model: Model, node: Node) -> bool:
    return node.op_type in STEEP and not (node.op_type == "Div" and node.inputs[1] in model.constants)


def _is_square(model: Model, node: Node) -> bool:
    return node.op_type == "Pow" or (node.op_type == "Mul" and node.inputs[0] == node.inputs[1])


def _reached(first: Iterable[Node], following: Callable[[Node], list[Node]]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    left = [*first]
    while left:
        each = left.pop()
        if each.name not in found:
            found[each.name] = each
            left += following(each)
    return found
