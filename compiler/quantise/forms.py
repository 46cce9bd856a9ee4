"""Finds which float operators get a quantised form, which clamps join the operator before, which tensors share a scale."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np
import onnx

from compiler.frontend.constraints.elementwise import UNARY
from compiler.frontend.constraints.rows import NORMALISATIONS
from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.importer.elementwise import varying_dimension
from compiler.frontend.model import Model, Node, scalar
from compiler.quantise.masks import makers_of_masks, masked
from compiler.quantise.rescaled import ends, factor_of, moved


class Form(enum.Enum):
    """How an operator is written in the quantised model."""

    CONV = "QLinearConv"
    GEMM = "QGemm"
    PRODUCT = "QLinearMatMul of two activations"
    RESCALED = "the same int8 at another scale"
    PAIR = "QLinearAdd, QLinearMul"
    AVERAGE = "QLinearAveragePool, QLinearGlobalAveragePool"
    STORED = "the same operator on int8"
    FLOAT = "the float operator between DequantizeLinear and QuantizeLinear"
    CLAMP = "Clip on int8, after the operator before it"
    INSIDE = "a float operator within a function of one tensor"


HEAVY = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
WINDOWS = {"MaxPool", "AveragePool", "GlobalAveragePool"}
"""Operators that are worth bringing a tensor to the machine for, like the heavy ones."""
ARRANGED = {"Transpose", "Reshape"}
"""Operators that store a tensor in another order, in any number of dimensions: a shuffle of channels has five."""
STORED = {"MaxPool", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "Concat"}
MOVED = {"DepthToSpace", "SpaceToDepth", "Pad", "Resize", "GlobalMaxPool", "ReduceMax"}
OF_ROWS = {"Softmax", *NORMALISATIONS}
"""Operators that ROW computes."""
MEANS = {"ReduceMean", "ReduceSum"}
PAIRED = {"Add", "Sub", "Mul", "Min", "Max"}
"""Operators of two tensors that the machine has."""
_CLAMPED = HEAVY | PAIRED | {"AveragePool", "GlobalAveragePool", "Resize"}
BINARY = {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max"}


@dataclass
class Forms:
    """The forms of nodes by their names. ``clamp`` has the clamped tensor and its bounds, by the tensor before the clamp."""

    model: Model
    of: dict[str, Form] = field(default_factory=dict)
    clamp: dict[str, tuple[str, float, float]] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    """Union-find over tensors that share a scale."""
    extras: Extras = NO_EXTRAS
    """The extras of the machine."""

    def root(self, name: str) -> str:
        while self.groups.get(name, name) != name:
            self.groups[name] = self.groups.get(self.groups[name], self.groups[name])
            name = self.groups[name]
        return name

    def join(self, a: str, b: str) -> None:
        self.groups[self.root(a)] = self.root(b)

    @property
    def rescaled(self) -> list[Node]:
        return [node for node in self.model.nodes if self.of.get(node.name) is Form.RESCALED]

    def quantised(self) -> list[str]:
        """Every tensor that gets an int8 form with a scale of its own."""
        found: dict[str, None] = {}
        inside = {name for node in self.model.nodes if self.of.get(node.name) is Form.INSIDE for name in node.outputs}
        inside |= set(self.clamp)
        if self.rescaled:
            readers = self.model.consumers()
            inside |= {name for node in self.rescaled for name in moved(self.model, node.output, readers) or ()}
        for node in self.model.nodes:
            form = self.of.get(node.name)
            if form is None:
                continue
            found.update((name, None) for name in activations_of(self.model, node) if name not in inside)
            if form is not Form.INSIDE:
                found.update((name, None) for name in node.outputs if name and name not in self.clamp)
        return list(found)


def forms_of(model: Model, kept: frozenset[str] = frozenset(), extras: Extras = NO_EXTRAS) -> Forms:
    """The forms of a model. ``kept`` are nodes that stay in float; ``extras`` are those of the machine."""
    forms = Forms(model, extras=extras)
    consumers = model.consumers()
    reached = {name for name in model.inputs if model.elem(name) == onnx.TensorProto.FLOAT}
    reached |= {
        name
        for node in model.nodes
        if node.op_type in HEAVY | WINDOWS and node.name not in kept
        for name in node.inputs[: 2 if extras.products and _of_two(model, node) else 1] if len(model.shape(name) or ()) >= 2
    }  # fmt: skip
    origin: dict[str, str] = {}
    sums = {each.node.name for each in masked(model)} if extras.products else set[str]()
    of_masks = makers_of_masks(model) if sums else set[str]()
    for node in model.nodes:
        left = node.name in kept or node.name in of_masks or (node.op_type in OF_ROWS and not extras.rows)
        form = None if left else _form(model, node, reached, origin, extras, sums)
        if form is None:
            continue
        forms.of[node.name] = form
        reached.update(node.outputs)
        if form is Form.FLOAT and (node.op_type in UNARY or node.op_type in BINARY) and not _by_channel(model, node):
            roots = {origin.get(name, name) for name in activations_of(model, node)}
            if len(roots) == 1:
                origin[node.output] = roots.pop()
    if extras.products:
        _rescale(model, forms, consumers)
    _fold_clamps(model, forms, consumers, origin)
    _hide_insides(model, forms, consumers, origin)
    _share(model, forms)
    return forms


def activations_of(model: Model, node: Node) -> list[str]:
    """The activations that a node reads."""
    data = node.inputs if node.op_type in BINARY | {"Concat", "MatMul"} else node.inputs[:1]
    return [name for name in dict.fromkeys(data) if name and name not in model.constants]


def _of_two(model: Model, node: Node) -> bool:
    """Whether a node is a product of two activations, of matrices or of heads."""
    ranks = [len(model.shape(name) or ()) for name in node.inputs]
    floats = all(model.elem(name) == onnx.TensorProto.FLOAT for name in (*node.inputs, *node.outputs))
    return (
        node.op_type == "MatMul" and not node.domain and floats and all(2 <= rank <= 4 for rank in ranks)
        and not any(name in model.constants for name in node.inputs) and model.shape(node.output) is not None
    )  # fmt: skip


def _form(
    model: Model, node: Node, reached: set[str], origin: dict[str, str], extras: Extras, sums: set[str]
) -> Form | None:
    """The form of a node. ``sums`` are the names of nodes that add masks to scores."""
    if node.domain or any(
        model.elem(name) != onnx.TensorProto.FLOAT or model.shape(name) is None for name in node.outputs if name
    ):
        return None
    if extras.products and _of_two(model, node):
        return Form.PRODUCT
    operands = activations_of(model, node)
    rank = len(model.shape(operands[0]) or ()) if operands else 0
    if node.op_type in HEAVY:
        weights = model.constants.get(node.input(1))
        constant = weights is not None and all(name in model.constants for name in node.inputs[2:] if name)
        if not constant or not operands or rank > 4 or (node.op_type == "Gemm" and node.integer("transA", 0)):
            return None
        assert weights is not None
        if node.op_type == "MatMul" and weights.ndim != 2:
            return None
        if node.op_type == "Gemm" and not _per_output(model, node):
            return None
        return {"Conv": Form.CONV, "Gemm": Form.GEMM}.get(node.op_type, Form.FLOAT)
    joins = node.name in sums or _joins_stream(model, node, reached)
    if not operands or not (all(name in reached for name in operands) or (joins and not reached.isdisjoint(operands))):
        return None
    if rank > 4 and node.op_type not in ARRANGED:
        return None
    if node.op_type in STORED:
        activations = sum(name not in model.constants for name in node.inputs)
        whole = node.op_type != "Concat" or len(operands) == activations
        return Form.STORED if (whole and not any(node.outputs[1:])) or node.op_type == "Split" else None
    if node.op_type in ("AveragePool", "GlobalAveragePool"):
        return Form.FLOAT if max(node.integers("dilations", (1,))) > 1 else Form.AVERAGE
    if node.op_type in OF_ROWS:
        return Form.FLOAT if _is_row(model, node, rank) else None
    if node.op_type in MOVED or node.op_type in MEANS:
        return Form.FLOAT
    if node.op_type in UNARY:
        extra = [model.constants.get(name) for name in node.inputs[1:] if name]
        if slopes_by_channel(model, node):
            return Form.FLOAT
        return Form.FLOAT if all(value is not None and value.size == 1 for value in extra) else None
    if node.op_type in BINARY and len(node.inputs) == 2:
        return _binary_form(model, node, operands, origin)
    return None


def _is_row(model: Model, node: Node, rank: int) -> bool:
    """Whether a node works on the last dimension with constant factors.

    An output of the model stays in float: with eight bits its greatest values become equal.
    """
    last = node.integer("axis", -1) in (-1, rank - 1) and not any(node.outputs[1:])
    return last and all(name in model.constants for name in node.inputs[1:] if name) and node.output not in model.outputs


def _joins_stream(model: Model, node: Node, reached: set[str]) -> bool:
    """Whether a node adds a tensor from the CPU to one of its shape from the machine, which then goes on with the sum."""
    shapes = {model.shape(name) for name in node.inputs}
    return node.op_type == "Add" and len(shapes) == 1 and any(name in reached for name in node.inputs)


def slopes_by_channel(model: Model, node: Node) -> bool:
    """Whether a node is a PRelu with a constant slope for each channel. It is then no function of one tensor."""
    slopes = model.constants.get(node.input(1)) if node.op_type == "PRelu" else None
    return slopes is not None and varying_dimension(slopes, len(model.shape(node.output) or ())) == 1


def _by_channel(model: Model, node: Node) -> bool:
    """Whether a node takes constants by channel. It is then no function of one tensor, which has one table for all channels."""
    constants = [model.constants[name] for name in node.inputs if name in model.constants] if node.op_type in BINARY else []
    return slopes_by_channel(model, node) or any(value.size > 1 for value in constants)


def _per_output(model: Model, node: Node) -> bool:
    """Whether the bias of a Gemm has one number for each column, or one for all."""
    bias = model.constants.get(node.input(2))
    columns = (model.shape(node.output) or (0,))[-1]
    return bias is None or bias.size == 1 or (bias.size == columns and bias.shape[-1] == columns)


def _binary_form(model: Model, node: Node, operands: list[str], origin: dict[str, str]) -> Form | None:
    constant = next((model.constants[name] for name in node.inputs if name in model.constants), None)
    if constant is not None and constant.size > 1:
        fits = model.shape(node.output) == model.shape(operands[0])
        return Form.FLOAT if node.op_type in PAIRED and fits else None
    if constant is not None or len({origin.get(name, name) for name in operands}) == 1:
        return Form.FLOAT
    return {"Add": Form.PAIR, "Mul": Form.PAIR, **dict.fromkeys(("Sub", "Min", "Max"), Form.FLOAT)}.get(node.op_type)


def _rescale(model: Model, forms: Forms, consumers: dict[str, list[Node]]) -> None:
    """Finds products with a power of two that are beside products of two activations; they get the form ``RESCALED``."""
    makers = model.producers()
    for node in model.nodes:
        names = moved(model, node.output, consumers) if factor_of(model, node) is not None else None
        if forms.of.get(node.name) is not Form.FLOAT or names is None:
            continue
        near = [*ends(names, consumers), *(makers[name] for name in node.inputs if name in makers)]
        if any(forms.of.get(other.name) is Form.PRODUCT for other in near):
            forms.of[node.name] = Form.RESCALED


def _fold_clamps(model: Model, forms: Forms, consumers: dict[str, list[Node]], origin: dict[str, str]) -> None:
    """Lets ReLU and Clip join the operator before them, if nobody else reads its result."""
    producers = model.producers()
    for node in model.nodes:
        if node.op_type not in ("Relu", "Clip") or forms.of.get(node.name) is not Form.FLOAT:
            continue
        source = node.inputs[0]
        maker = producers.get(source)
        alone = len(consumers[source]) == 1 and source not in model.outputs
        if maker is None or maker.op_type not in _CLAMPED or maker.name not in forms.of or source in origin or not alone:
            continue
        low = model.constants.get(node.input(1))
        high = model.constants.get(node.input(2))
        lo = 0.0 if node.op_type == "Relu" else float(scalar(low)) if low is not None else -np.inf
        hi = float(scalar(high)) if high is not None else np.inf
        if lo <= 0.0 <= hi:
            forms.of[node.name] = Form.CLAMP
            forms.clamp[source] = (node.output, lo, hi)


def _hide_insides(model: Model, forms: Forms, consumers: dict[str, list[Node]], origin: dict[str, str]) -> None:
    """Leaves the nodes within a function of one tensor unquantised."""
    for node in model.nodes:
        if forms.of.get(node.name) is not Form.FLOAT or node.output not in origin or node.output in model.outputs:
            continue
        if node.output in forms.clamp:
            continue
        users = consumers.get(node.output, [])
        if users and all(forms.of.get(u.name) is Form.FLOAT and origin.get(u.output) == origin[node.output] for u in users):
            forms.of[node.name] = Form.INSIDE


def _share(model: Model, forms: Forms) -> None:
    """Joins tensors that share a scale: what a node only moves, selects or averages, and all parts of a join."""
    for node in model.nodes:
        moved = node.op_type in MOVED and node.text("mode", "") != "cubic"
        if forms.of.get(node.name) is Form.STORED or (forms.of.get(node.name) is Form.FLOAT and moved):
            for name in (*activations_of(model, node), *node.outputs):
                forms.join(name, forms.clamp.get(node.output, (node.output,))[0])
