"""Fusion templates as data, and the groups that they propose (DNNVM section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from compiler.fusion.isomorphism import LabelledGraph, embeddings
from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.layers.lower import is_depthwise
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Conv, ConvTranspose, Eltwise, EltwiseKind, Op, Pool, Upsample
from compiler.xgraph.products import Product

FEEDS = frozenset({"feeds"})
"""Labels an edge whose first vertex makes a map that the second reads."""
SHARES = frozenset({"shares"})
"""Labels an edge whose vertices read the same map."""
MOST_BESIDE = 32
"""The most later readers of the same map to which an operation gets an edge."""
MOST_EMBEDDINGS = 32
"""The most embeddings of a template for each operation of a graph. A hundred convolutions of one map have millions."""


@dataclass(frozen=True)
class Template:
    """A pattern of operations: the labels that each must have, which feed which, and which share a map."""

    name: str
    vertices: tuple[str, ...]
    """The labels of each operation, separated by blanks. ``labels_of`` gives the labels that there are."""
    feeds: tuple[tuple[int, int], ...] = ()
    shares: tuple[tuple[int, int], ...] = ()

    @property
    def graph(self) -> LabelledGraph:
        edges = dict.fromkeys(self.feeds, FEEDS) | dict.fromkeys(self.shares, SHARES)
        return LabelledGraph([frozenset(labels.split()) for labels in self.vertices], edges)


def chain(*vertices: str) -> Template:
    """A template in which each operation feeds the next."""
    return Template(" > ".join(vertices), vertices, feeds=tuple((n, n + 1) for n in range(len(vertices) - 1)))


def side_by_side(*vertices: str) -> Template:
    """A template in which all operations read one map."""
    return Template(" | ".join(vertices), vertices, shares=tuple((0, n) for n in range(1, len(vertices))))


TEMPLATES: tuple[Template, ...] = (
    chain("conv", "pool"),
    chain("conv", "eltwise"),
    chain("conv", "conv"),
    chain("conv", "depthwise"),
    chain("depthwise", "conv"),
    chain("pool", "conv"),
    chain("deconv", "conv"),
    chain("conv", "upsample"),
    chain("upsample", "conv"),
    chain("eltwise", "conv"),
    chain("eltwise", "eltwise"),
    chain("conv", "conv", "conv"),
    chain("conv", "conv", "pool"),
    chain("conv", "conv", "eltwise"),
    chain("conv", "depthwise", "conv"),
    chain("conv", "depthwise", "conv", "eltwise"),
    chain("depthwise", "conv", "depthwise", "conv"),
    chain("conv", "conv", "conv", "eltwise"),
    Template("conv, conv > eltwise", ("conv", "conv", "eltwise"), feeds=((0, 2), (1, 2))),
    side_by_side("conv", "conv"),
    side_by_side("conv", "pool"),
    side_by_side("conv", "conv", "conv"),
    side_by_side("conv", "conv", "conv", "conv"),
)

PAPER_TEMPLATES: tuple[Template, ...] = (
    chain("injective", "injective"),
    chain("injective", "eltwise"),
    chain("eltwise", "injective"),
    side_by_side("injective", "injective"),
    side_by_side("injective", "injective", "injective"),
    side_by_side("injective", "injective", "injective", "injective"),
)
"""DNNVM's kernel fusion (section 4.1.3) with its wildcard: longitudinally adjacent operations, a branch with the element-wise
operation that joins it, and horizontally adjacent ones on one map. DNNVM's figure 3 was not at hand."""


def labels_of(op: Op) -> frozenset[str]:
    """The labels of an operation, which templates may ask for: its type and its geometry."""
    match op:
        case Conv():
            labels = {"depthwise" if is_depthwise(op) else "conv"}
        case Product():
            labels = {"conv", "product"}
        case LongConv():
            labels = {"conv", "long"}
        case ConvTranspose():
            labels = {"deconv"}
        case Pool():
            labels = {"pool", op.kind.value}
        case Eltwise():
            labels = {"eltwise", op.kind.value}
        case Upsample():
            labels = {"upsample"}
        case _:
            labels = {type(op).__name__.lower()}
    if not isinstance(op, Eltwise) or op.kind is EltwiseKind.PASS:
        # Section 4.1: convolution, pooling, nonlinear, deconvolution, depth-wise convolution, upsample, and reorganization.
        labels |= {"injective"}
    window = getattr(op, "window", None)
    if window is not None:
        labels |= {"kernel{}x{}".format(*window.kernel), "stride{}x{}".format(*window.stride)}
    return frozenset(labels)


def labelled(sets: OpSets) -> LabelledGraph:
    """The machine operations with both kinds of edges. A reader of a map has edges to the next ``MOST_BESIDE`` readers only."""
    edges: dict[tuple[int, int], frozenset[str]] = {}
    for number in range(len(sets.ops)):
        for user in bits_of(sets.direct_users[number]):
            edges[number, user] = edges.get((number, user), frozenset()) | FEEDS
        for beside in islice(bits_of(sets.shares[number] >> number + 1), MOST_BESIDE):
            other = number + 1 + beside
            for edge in ((number, other), (other, number)):
                edges[edge] = edges.get(edge, frozenset()) | SHARES
    return LabelledGraph([labels_of(op) for op in sets.ops], edges)


def template_groups(sets: OpSets, templates: tuple[Template, ...] = TEMPLATES) -> dict[Mask, Template]:
    """The groups that templates propose and that may run together, each with the first template that proposes it.

    Each template has a limit of embeddings (``MOST_EMBEDDINGS``), of which the first are taken.
    """
    graph = labelled(sets)
    found: dict[Mask, Template] = {}
    for template in templates:
        for embedding in islice(embeddings(template.graph, graph), MOST_EMBEDDINGS * len(sets.ops)):
            mask = sum(1 << vertex for vertex in embedding)
            if mask not in found and sets.together(mask) and sets.convex(mask):
                found[mask] = template
    return found
