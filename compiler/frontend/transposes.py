"""Reduces transpositions: each waits until an operator needs its order, and those that cancel are never made.

Models with channels last have a Transpose before and behind every layer. Functions of each element, pads, joins and reductions
work in any order. So they take the order that is there, and the transpositions around them meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from compiler.frontend.constraints.elementwise import UNARY
from compiler.frontend.folding import without_identities
from compiler.frontend.model import Array, Model, Node, TensorType

Perm = tuple[int, ...]
_PAIRS = ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "PRelu")
_REDUCTIONS = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum")


def with_fewer_transposes(model: Model) -> Model:
    """The model with fewer transposes and the same function; the model itself, if none is saved."""
    turned, inputs = _with_turned_inputs(model)
    moved = without_identities(_Mover(turned, inputs).run())
    saved = _count(model) - _count(moved)
    return moved if saved > 0 or (saved == 0 and inputs) else model


def _with_turned_inputs(model: Model) -> tuple[Model, frozenset[str]]:
    """The model with inputs transposed at once and back, if a Transpose follows only behind functions of each element and pads.

    And the names of these transposed inputs.
    """
    readers = model.consumers()
    nodes = list(model.nodes)
    types = dict(model.types)
    found = set()
    for name in model.inputs:
        perm = _order_behind(model, readers, name)
        if perm is None:
            continue
        shape, elem = model.shape(name) or (), model.elem(name)
        turned, back = f"{name}/turned", f"{name}/back"
        found.add(turned)
        types |= {turned: TensorType(elem, tuple(shape[axis] for axis in perm)), back: TensorType(elem, shape)}
        nodes = [
            Node(turned, "Transpose", (name,), (turned,), {"perm": list(perm)}),
            Node(back, "Transpose", (turned,), (back,), {"perm": [int(axis) for axis in np.argsort(perm)]}),
            *(replace(node, inputs=tuple(back if read == name else read for read in node.inputs)) for node in nodes),
        ]
    return replace(model, nodes=tuple(nodes), types=types), frozenset(found)


def _order_behind(model: Model, readers: Mapping[str, Sequence[Node]], name: str) -> Perm | None:
    """The order of the Transpose behind at least one such operator, if each of them has one reader."""
    passed = 0
    while len(readers.get(name, ())) == 1 and name not in model.outputs:
        node = readers[name][0]
        if node.domain or name not in node.inputs:
            return None
        if node.op_type == "Transpose":
            return node.integers("perm", ()) or None if passed else None
        constant = all(read in model.constants for read in node.inputs if read and read != name)
        if not constant or node.op_type not in (*UNARY, *_PAIRS, "Pad", "Cast"):
            return None
        passed, name = passed + 1, node.output
    return None


def _count(model: Model) -> int:
    return sum(node.op_type == "Transpose" for node in model.nodes)


class _Mover:
    """Walks the nodes once. ``waiting`` has, for each tensor that is another one in another order, that one and the order."""

    def __init__(self, model: Model, fixed: frozenset[str]) -> None:
        """Starts a walk; ``fixed`` are results of transpositions that are made where they stand."""
        self.model, self.fixed = model, fixed
        self.constants: dict[str, Array] = dict(model.constants)
        self.types = dict(model.types)
        self.nodes: list[Node] = []
        self.waiting: dict[str, tuple[str, Perm]] = {}
        self.there: set[str] = set()

    def run(self) -> Model:
        for node in self.model.nodes:
            if node.domain or not (self._transpose(node) or self._turned(node)):
                self._put(node)
        for name in self.model.outputs:
            self._settle(name)
        return replace(self.model, types=self.types).with_nodes(self.nodes, self.constants)

    # What is there, and what waits

    def _put(self, node: Node) -> None:
        """Adds the node as it is; its operands are brought into the order that it needs."""
        captured = set(node.captures())
        for name in captured:
            self._settle(name)
        self.nodes.append(replace(node, inputs=tuple(self._read(name) for name in node.inputs)))

    def _read(self, name: str) -> str:
        source, perm = self.waiting.get(name, (name, ()))
        if name in self.waiting and name not in self.there and perm == tuple(range(len(perm))):
            return source
        self._settle(name)
        return name

    def _settle(self, name: str) -> None:
        """Makes the tensor that waits."""
        if name not in self.waiting or name in self.there:
            return
        source, perm = self.waiting[name]
        self.there.add(name)
        if perm == tuple(range(len(perm))):
            self.nodes.append(Node(f"{name}/Identity", "Identity", (source,), (name,)))
        else:
            self.nodes.append(Node(f"{name}/Transpose", "Transpose", (source,), (name,), {"perm": list(perm)}))

    def _transpose(self, node: Node) -> bool:
        perm = node.integers("perm", ())
        if node.op_type != "Transpose" or not perm or node.output in self.fixed:
            return False
        source, before = self.waiting.get(node.inputs[0], (node.inputs[0], tuple(range(len(perm)))))
        self.waiting[node.output] = source, tuple(before[i] for i in perm)
        return True

    # Operators in the order of what they read

    def _turned(self, node: Node) -> bool:
        """Whether the node could be written in the order of its waiting operands."""
        found = [self.waiting.get(name) for name in node.inputs]
        perms = {perm for entry in found if entry for perm in [entry[1]]}
        shape = self.model.shape(node.output)
        if len(perms) != 1 or shape is None or len(node.outputs) != 1:
            return False
        perm = perms.pop()
        if perm == tuple(range(len(perm))):
            return False
        if node.op_type in UNARY or node.op_type == "Cast":
            return self._write(node, perm, [0], {})
        if node.op_type in _PAIRS:
            return len(shape) == len(perm) and self._write(node, perm, [0, 1], {})
        if node.op_type == "Concat":
            axis = perm[node.integer("axis", 0) % len(perm)]
            return all(found) and self._write(node, perm, range(len(found)), {"axis": axis})
        if node.op_type == "Pad":
            return self._pad(node, perm)
        if node.op_type in _REDUCTIONS:
            return self._reduction(node, perm)
        return False

    def _write(
        self, node: Node, perm: Perm, places: Sequence[int], attributes: dict[str, object], made: Perm | None = None
    ) -> bool:  # fmt: skip
        """Writes a node in another order, and returns whether that was possible.

        ``places`` are the inputs that are tensors of the map. ``made`` is the order of the result, if it differs from ``perm``.
        """
        inputs = list(node.inputs)
        for place in places:
            name = inputs[place]
            if name in self.waiting:
                inputs[place] = self.waiting[name][0]
                continue
            value = self.constants.get(name)
            if value is None or value.ndim > len(perm):
                return False
            if value.size > 1:
                inputs[place] = self._constant(name, value, perm)
        out = self._name(f"{node.output}/moved")
        self.nodes.append(replace(node, inputs=tuple(inputs), outputs=(out,), attributes={**node.attributes, **attributes}))
        order = perm if made is None else made
        shape = self.model.shape(node.output) or ()
        before = [0] * len(shape)
        for axis, size in zip(order, shape, strict=True):
            before[axis] = size
        self.types[out] = TensorType(self.model.elem(node.output), tuple(before))
        self.waiting[node.output] = out, order
        return True

    def _constant(self, name: str, value: Array, perm: Perm) -> str:
        wide = value.reshape((1,) * (len(perm) - value.ndim) + value.shape).transpose(np.argsort(perm))
        turned = f"{name}/{'_'.join(map(str, perm))}"
        self.constants[turned] = np.ascontiguousarray(wide)
        return turned

    def _name(self, name: str) -> str:
        while name in self.types or name in self.constants:
            name += "'"
        return name

    def _pad(self, node: Node, perm: Perm) -> bool:
        pads = self.constants.get(node.input(1))
        if pads is None or pads.size != 2 * len(perm) or node.input(3):
            return False
        turned = np.zeros_like(pads).reshape(2, -1)
        turned[:, list(perm)] = pads.reshape(2, -1)
        name = self._name(f"{node.output}/pads")
        self.constants[name] = turned.reshape(-1)
        return self._write(replace(node, inputs=(node.inputs[0], name, *node.inputs[2:])), perm, [0], {})

    def _reduction(self, node: Node, perm: Perm) -> bool:
        given = self.constants.get(node.input(1)) if node.input(1) else None
        axes = [int(a) for a in given.reshape(-1)] if given is not None else list(node.integers("axes", ()))
        if not axes or (node.input(1) and given is None):
            return False
        axes = [axis % len(perm) for axis in axes]
        turned = sorted(perm[axis] for axis in axes)
        left = sorted(axis for axis in range(len(perm)) if axis not in turned)
        made = perm if node.integer("keepdims", 1) else tuple(left.index(p) for i, p in enumerate(perm) if i not in axes)
        if given is None:
            return self._write(node, perm, [0], {"axes": turned}, made)
        name = self._name(f"{node.output}/axes")
        self.constants[name] = np.array(turned, np.int64)
        return self._write(replace(node, inputs=(node.inputs[0], name)), perm, [0], {}, made)
