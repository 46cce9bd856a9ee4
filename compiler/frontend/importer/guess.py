"""Guesses from the first readers of a host tensor whether its channels are second or last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.frontend.importer.layout import last_letters_for, letters_for
from compiler.frontend.model import Array, Node

_PASS_ON = {
    "DequantizeLinear", "QuantizeLinear", "Relu", "Clip", "Sigmoid", "Cast", "Identity", "LeakyRelu", "HardSwish", "Add", "Mul",
    "Sub", "Div", "QLinearAdd", "QLinearMul", "Pad",
}  # fmt: skip
_LAST = {"Reshape", "Flatten", "MatMul", "QLinearMatMul"}
_DENSE = {"Gemm", "QGemm", "MatMul", "QLinearMatMul"}
_PLANES = {"Conv", "ConvTranspose", "QLinearConv"}
_ROWS = {"Softmax", "QLinearSoftmax", "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"}
_REDUCTIONS = {"ReduceMean", "ReduceSum", "ReduceMax"}
_TO_SECOND = {4: (0, 3, 1, 2), 3: (0, 2, 1)}


def guess_letters(
    consumers: Mapping[str, Sequence[Node]], name: str, rank: int, constants: Mapping[str, Array] | None = None,
    rows: bool = False,
) -> str:  # fmt: skip
    """The letters of the plain layout. Channels are second, unless the first reader that cares has them last.

    Rows that a dense layer reads are the pixels of one map: they may be the tokens of one image. ``rows`` says whether the
    machine has ROW, whose operators have their channels last.
    """
    last, second = last_letters_for(rank), letters_for(rank)
    assert last is not None
    assert second is not None
    seen: set[str] = set()
    queue = [name]
    for tensor in queue:
        for node in consumers.get(tensor, ()):
            if node.op_type in _PASS_ON:
                fresh = [out for out in node.outputs if out not in seen]
                seen.update(fresh)
                queue += fresh
            elif rank == 2 and node.op_type in _DENSE:
                return "WC"
            elif node.op_type == "Transpose":
                perm = node.integers("perm", ())
                return last if perm == _TO_SECOND.get(rank) else _before_planes(consumers, node, perm) or second
            elif node.op_type in (_LAST | _ROWS if rows else _LAST) or (rank > 2 and _over_last(node, rank, constants or {})):
                return last
            else:
                return second
    return second


def _before_planes(consumers: Mapping[str, Sequence[Node]], node: Node, perm: Sequence[int]) -> str:
    """The letters of a Transpose's input, if a layer on planes needs the channels second behind it; else none."""
    letters = letters_for(len(perm)) or ""
    readers = [*consumers.get(node.output, ())]
    for reader in readers:
        if reader.op_type in _PASS_ON:
            readers += (each for name in reader.outputs for each in consumers.get(name, ()) if each not in readers)
    if perm[:1] != (0,) or not any(reader.op_type in _PLANES for reader in readers):
        return ""
    return "".join(letters[perm.index(place)] for place in range(len(perm)))


def _over_last(node: Node, rank: int, constants: Mapping[str, Array]) -> bool:
    """Whether a node is a reduction over the last dimension alone, as in a normalisation of features."""
    given = constants.get(node.input(1))
    axes = node.integers("axes", ()) if given is None else tuple(given.reshape(-1).tolist())
    return node.op_type in _REDUCTIONS and len(axes) == 1 and axes[0] % rank == rank - 1
