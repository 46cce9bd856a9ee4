"""Spells out nodes that onnxruntime's optimiser of transformers has made of several ones: the machine computes the parts.

A softmax over another dimension goes over the last one, between two transposes.
"""

from __future__ import annotations

import math

from compiler.frontend.extras import Extras
from compiler.frontend.fused_attention import SPELLS as ATTENTION
from compiler.frontend.fused_attention import WITH_LAYERS
from compiler.frontend.heads import MOST_DIMENSIONS
from compiler.frontend.model import MICROSOFT, Model
from compiler.frontend.spelling import Spell, Spelling, with_spelt

_CUBED = 0.044715
"""The factor of the third power in the form of GELU with a tanh."""


def with_fused_nodes_spelt_out(model: Model, extras: Extras) -> Model:
    """The model with such nodes spelt out for a machine with these options; what it does not compute stays one node."""
    softmaxes = SOFTMAX if extras.rows else {}
    attention = ATTENTION if extras.rows and extras.products else {}
    return with_spelt(model, {**SPELLS, **softmaxes, **attention})


def _skip(s: Spelling) -> bool:
    """Spells out the normalised sum of two tensors and a bias; the sum itself may be an output, too."""
    node, root_only = s.node, s.node.op_type.startswith("SkipSimplified")
    bias = 3 if root_only else 4
    if any(node.outputs[1:3]) or any(s.shape(place) != s.shape(0) for place in range(2)):
        return False
    total = s.add("Add", node.inputs[:2], "sum")
    total = s.add("Add", [total, node.inputs[bias]], "biased") if node.input(bias) else total
    factors = [name for name in node.inputs[2:bias] if name]
    kind = "SimplifiedLayerNormalization" if root_only else "LayerNormalization"
    made = s.add(kind, [total, *factors], "normal", axis=-1, epsilon=float(node.attributes.get("epsilon", 1e-12)))
    s.ends(made)
    if len(node.outputs) > 3 and node.outputs[3]:
        s.ends(total, 3)
    return True


def _with_bias(s: Spelling) -> str:
    return s.add("Add", s.node.inputs[:2], "biased") if s.node.input(1) else s.node.inputs[0]


def _gelu(s: Spelling) -> bool:
    """Spells out GELU by the error function: ``x / 2 (1 + erf(x / sqrt 2))``."""
    x = _with_bias(s)
    erf = s.add("Erf", [s.add("Div", [x, s.number("root", math.sqrt(2))], "part")], "erf")
    s.ends(_half_of(s, x, erf))
    return True


def _fast_gelu(s: Spelling) -> bool:
    """Spells out GELU by a tanh: ``x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))``."""
    x = _with_bias(s)
    cubed = s.add("Mul", [s.add("Pow", [x, s.number("three", 3.0)], "cubed"), s.number("share", _CUBED)], "shared")
    inner = s.add("Mul", [s.add("Add", [x, cubed], "inner"), s.number("root", math.sqrt(2 / math.pi))], "part")
    s.ends(_half_of(s, x, s.add("Tanh", [inner], "tanh")))
    return True


def _quick_gelu(s: Spelling) -> bool:
    x = s.node.inputs[0]
    alpha = s.number("alpha", float(s.node.attributes.get("alpha", 1.702)))
    s.ends(s.add("Mul", [x, s.add("Sigmoid", [s.add("Mul", [x, alpha], "part")], "sigmoid")], "gated"))
    return True


def _softmax(s: Spelling) -> bool:
    shape = s.shape(0)
    axis = s.node.integer("axis", -1) % max(len(shape), 1)
    if s.node.output in s.model.outputs or axis >= len(shape) - 1 or len(shape) > MOST_DIMENSIONS:
        return False
    order = [*range(len(shape))]
    order[axis], order[-1] = order[-1], order[axis]
    rows = s.add("Transpose", s.node.inputs, "rows", perm=order)
    s.ends(s.add("Transpose", [s.add("Softmax", [rows], "shares", axis=-1)], "back", perm=order))
    return True


def _half_of(s: Spelling, x: str, share: str) -> str:
    """The name of ``x / 2 (1 + share)``."""
    lifted = s.add("Add", [share, s.number("one", 1.0)], "lifted")
    return s.add("Mul", [s.add("Mul", [x, lifted], "product"), s.number("half", 0.5)], "half_of")


SOFTMAX: dict[tuple[str, str], Spell] = {("", "Softmax"): _softmax}
SPELLS: dict[tuple[str, str], Spell] = {
    **WITH_LAYERS,
    **{(MICROSOFT, name): _skip for name in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")},
    **{(MICROSOFT, name): _gelu for name in ("Gelu", "BiasGelu")},
    (MICROSOFT, "FastGelu"): _fast_gelu,
    (MICROSOFT, "QuickGelu"): _quick_gelu,
}  # fmt: skip
