"""Spells out attention that is one node as products, masks and a softmax: ONNX's Attention, and onnxruntime's two.

A node stays as it is, on the CPU, if it has a past, softcap, windows, lengths that only a run tells, a mask of truth values
from outside, or rows that are masked as a whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from compiler.frontend.model import MICROSOFT, Array
from compiler.frontend.spelling import Spell, Spelling

STANDARD = {"q_num_heads", "kv_num_heads", "is_causal", "scale", "softcap", "qk_matmul_output_mode", "softmax_precision"}
"""The attributes of ONNX's Attention that are known here; later operator sets have windows."""
FAR = -10000.0
"""The number that onnxruntime adds to masked scores, unless the node has its own."""


@dataclass(frozen=True)
class Operand:
    """Queries, keys or values: batch x tokens x features, or batch x heads x tokens x features of a head."""

    name: str
    shape: tuple[int, ...]
    heads: int

    @property
    def tokens(self) -> int:
        return self.shape[-2]

    @property
    def features(self) -> int:
        """The features of a head."""
        return self.shape[-1] if len(self.shape) == 4 else self.shape[-1] // self.heads

    def split(self) -> bool:
        """Whether heads have a dimension of their own, or can get one."""
        return len(self.shape) == 4 or (len(self.shape) == 3 and self.heads > 0 and self.shape[-1] % self.heads == 0)


def _standard(s: Spelling) -> bool:
    """Spells out ONNX's Attention. A mask of truth values says which scores stay; query heads may share keys and values."""
    node, given = s.node, s.value(3)
    heads, shared = (node.integer(name, 0) for name in ("q_num_heads", "kv_num_heads"))
    more = any(node.outputs[1:]) or any(node.inputs[4:])
    if more or node.attributes.get("softcap") or not STANDARD.issuperset(node.attributes):
        return False
    operands = []
    for place, count in enumerate((heads, shared, shared)):
        shape = s.shape(place)
        operands.append(Operand(node.inputs[place], shape, shape[1] if len(shape) == 4 else count))
    masks = _masks(s, operands, causal=bool(node.integer("is_causal", 0)), far=-math.inf)
    if given is not None and given.dtype == np.bool_:
        masks.append(s.constant("mask", np.where(given, 0.0, -np.inf).astype(np.float32)))
    elif node.input(3):
        masks.append(node.inputs[3])
    if (given is None and s.model.elem(node.input(3)) == TensorProto.BOOL) or _all_is_masked(s, masks):
        return False
    return _spelt(s, operands, node.attributes.get("scale"), masks)


def _multi_head(s: Spelling) -> bool:
    """Spells out onnxruntime's MultiHeadAttention, whose queries, keys and values may still lack the bias of their layers."""
    node, heads = s.node, s.node.integer("num_heads", 0)
    if any(node.outputs[1:]) or any(node.inputs[6:]) or not all(node.input(place) for place in range(3)):
        return False
    operands = [Operand(node.inputs[place], s.shape(place), heads) for place in range(3)]
    biases = s.value(3)
    if node.input(3) and (biases is None or any(len(each.shape) != 3 for each in operands)):
        return False
    if biases is not None:
        operands = _with_biases(s, operands, biases)
    masks = _masks(s, operands, causal=bool(node.integer("unidirectional", 0)), far=_far(s))
    if masks and operands[0].tokens != operands[1].tokens:
        return False
    if node.input(4) and not _padding(s, 4, operands[1].tokens, masks):
        return False
    masks += [node.inputs[5]] if node.input(5) else []
    return _spelt(s, operands, node.attributes.get("scale"), masks)


def _packed(s: Spelling) -> bool:
    """Spells out onnxruntime's Attention, which has one matrix for the layers that make queries, keys and values."""
    node, heads, weights, biases = s.node, s.node.integer("num_heads", 0), s.value(1), s.value(2)
    beyond = (4, *range(6, len(node.inputs)))
    if any(node.outputs[1:]) or any(node.input(place) for place in beyond) or node.integer("do_rotary", 0):
        return False
    if weights is None or (node.input(2) and biases is None) or len(s.shape(0)) != 3:
        return False
    sizes = node.integers("qkv_hidden_sizes", [weights.shape[1] // 3] * 3)
    operands = []
    bounds = [0, *np.cumsum(sizes)]
    for name, begin, end in zip("qkv", bounds, bounds[1:], strict=False):
        part = s.constant(f"{name}/weights", np.ascontiguousarray(weights[:, begin:end]))
        made = s.add("MatMul", [node.inputs[0], part], f"{name}/MatMul")
        operands.append(Operand(made, (*s.shape(0)[:2], end - begin), heads))
    if biases is not None:
        operands = _with_biases(s, operands, biases)
    masks = _masks(s, operands, causal=bool(node.integer("unidirectional", 0)), far=_far(s))
    if node.input(3) and not _padding(s, 3, operands[1].tokens, masks):
        return False
    masks += [node.inputs[5]] if node.input(5) else []
    return _spelt(s, operands, node.attributes.get("scale"), masks)


SPELLS: dict[tuple[str, str], Spell] = {("", "Attention"): _standard, (MICROSOFT, "MultiHeadAttention"): _multi_head}
WITH_LAYERS: dict[tuple[str, str], Spell] = {(MICROSOFT, "Attention"): _packed}
"""Attention with layers in it, which are worth bringing to a machine that does not compute the rest."""


def _far(s: Spelling) -> float:
    return float(s.node.attributes.get("mask_filter_value", FAR))


def _with_biases(s: Spelling, operands: list[Operand], biases: Array) -> list[Operand]:
    """The operands with their biases added; ``biases`` has those of queries, keys and values one after another."""
    found, begin = [], 0
    for label, each in zip("qkv", operands, strict=True):
        end = begin + each.shape[-1]
        bias = s.constant(f"{label}/bias", biases[begin:end])
        found.append(Operand(s.add("Add", [each.name, bias], f"{label}/Add"), each.shape, each.heads))
        begin = end
    return found


def _masks(s: Spelling, operands: list[Operand], causal: bool, far: float) -> list[str]:
    """The mask of causal attention, if it is asked for: a token sees itself and those before it."""
    if not causal:
        return []
    later = np.triu(np.ones((operands[0].tokens, operands[1].tokens), bool), 1)
    return [s.constant("causal", np.where(later, far, 0.0).astype(np.float32))]


def _all_is_masked(s: Spelling, masks: list[str]) -> bool:
    """Whether constant masks leave nothing of a row; the standard makes zeros of such a row."""
    known = [{**s.model.constants, **s.constants}.get(name) for name in masks]
    constants = [value for value in known if value is not None]
    return bool(constants) and bool(np.isneginf(np.broadcast_arrays(*constants)).any(0).all(-1).any())


def _padding(s: Spelling, place: int, tokens: int, masks: list[str]) -> bool:
    """Adds the mask of tokens that are padding. Returns False if only a run tells them, or they are given in another way."""
    there = s.value(place)
    if there is None or there.shape != (s.shape(0)[0], tokens):
        return False
    values = np.where(there == 0, _far(s), 0.0).astype(np.float32)
    masks.append(s.constant("padding", values[:, None, None, :]))
    return True


def _spelt(s: Spelling, operands: list[Operand], scale: float | None, masks: list[str]) -> bool:
    queries, keys, values = operands
    if not all(each.split() for each in operands) or queries.heads % keys.heads:
        return False
    width = len(queries.shape)
    q = _heads(s, "q", queries, 1, (0, 2, 1, 3))
    k = _heads(s, "k", keys, queries.heads // keys.heads, (0, 2, 3, 1))
    v = _heads(s, "v", values, queries.heads // values.heads, (0, 2, 1, 3))
    scores = s.add("MatMul", [q, k], "scores")
    factor = scale or 1 / math.sqrt(queries.features)
    scores = s.add("Mul", [scores, s.number("scale", factor)], "scaled") if factor != 1 else scores
    for number, mask in enumerate(masks):
        scores = s.add("Add", [scores, mask], f"masked{number}")
    mixed = s.add("MatMul", [s.add("Softmax", [scores], "shares", axis=-1), v], "mixed")
    if width == 3:
        size = (queries.shape[0], queries.tokens, queries.heads * values.features)
        turned = s.add("Transpose", [mixed], "turned", perm=[0, 2, 1, 3])
        mixed = s.add("Reshape", [turned, s.sizes("size", *size)], "joined")
    s.ends(mixed)
    return True


def _heads(s: Spelling, label: str, operand: Operand, times: int, order: tuple[int, ...]) -> str:
    """Heads as batch x heads x tokens x features, in ``order``. Each head comes ``times`` times, for as many query heads."""
    batch, features = operand.shape[0], operand.features
    name = operand.name
    if len(operand.shape) == 4:
        name = _repeated(s, label, name, operand.heads, 1, times, 1)
        turned = order == (0, 2, 3, 1)
        return s.add("Transpose", [name], f"{label}/heads", perm=[0, 1, 3, 2]) if turned else name
    name = _repeated(s, label, name, operand.heads, features, times, 2)
    shape = s.sizes(f"{label}/size", batch, operand.tokens, operand.heads * times, features)
    split = s.add("Reshape", [name, shape], f"{label}/split")
    return s.add("Transpose", [split], f"{label}/heads", perm=[*order])


def _repeated(s: Spelling, label: str, name: str, heads: int, size: int, times: int, axis: int) -> str:
    if times == 1:
        return name
    parts = []
    for head in range(heads):
        bounds = [s.sizes(f"{label}/{what}{head}", value) for what, value in
                  (("from", head * size), ("to", (head + 1) * size), ("axis", axis))]  # fmt: skip
        parts += [s.add("Slice", [name, *bounds], f"{label}/head{head}")] * times
    return s.add("Concat", parts, f"{label}/repeated", axis=axis)
