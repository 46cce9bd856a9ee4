"""What each pass makes of a small graph, as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.passes.dead_code import remove_dead
from compiler.passes.fold_channels import fold_channels
from compiler.passes.fold_pads import fold_pads
from compiler.passes.fold_pointwise import fold_pointwise
from compiler.passes.insert_copies import insert_copies
from compiler.passes.nest_concats import nest_concats
from compiler.passes.pipeline import PASSES, optimised
from compiler.passes.remove_identities import remove_identities
from compiler.passes.share import share_equal
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import (
    Concat,
    Conv,
    Eltwise,
    EltwiseKind,
    Finish,
    Op,
    Pool,
    PoolKind,
    Requantisation,
    Reshape,
    Slice,
    Upsample,
    Window,
)
from compiler.xgraph.printer import print_graph
from compiler.xgraph.reference import execute
from compiler.xgraph.tensor import Quantisation, Tensor
from compiler.xgraph.verify import verify
from tests.conftest import Golden

Shape = tuple[int, int, int, int]
Pass = Callable[[XGraph], XGraph]
Q = Quantisation(0.5, 0)
RNG = np.random.default_rng(3)
ONES = Requantisation(np.zeros(4, np.int32), np.full(4, 1 << 23, np.uint32), np.full(4, 23, np.uint8))
SQUARE = Window((3, 3), (1, 1), (1, 1), (1, 1, 1, 1))


def graph(shapes: dict[str, Shape], ops: list[Op], *outputs: str) -> XGraph:
    tensors = {name: Tensor(name, shape, Q) for name, shape in shapes.items()}
    return XGraph("g", tensors, tuple(ops), ("x",), outputs)


def conv(name: str, source: str, window: Window = SQUARE, finish: Finish | None = None, groups: int = 1, pad: int = 0) -> Conv:
    weights = RNG.integers(-5, 6, (4, *window.kernel, 4 // groups)).astype(np.int8)
    scale = Requantisation(np.arange(4, dtype=np.int32), np.full(4, 1 << 23, np.uint32), np.full(4, 27, np.uint8))
    return Conv(name, (source,), (name,), window, weights, scale, finish or Finish(), groups, pad)


def copy(name: str, source: str, finish: Finish | None = None, m: int = 1, shift: int = 0) -> Eltwise:
    return Eltwise(name, (source,), (name,), EltwiseKind.PASS, m, 0, 0, shift, finish or Finish())


X: Shape = (1, 6, 6, 4)
TABLE = np.arange(-128, 128).astype(np.int8)[::-1].copy()
ORDER = np.eye(4, dtype=np.int8)[[2, 0, 3, 1]].reshape(4, 1, 1, 4)

CASES: dict[str, tuple[Pass, XGraph]] = {
    "clamp": (fold_pointwise, graph({"x": X, "a": X, "y": X}, [conv("a", "x"), copy("y", "a", Finish(0, 0, 100))], "y")),
    "table_on_table": (
        fold_pointwise,
        graph(
            {"x": X, "a": X, "b": X, "y": X},
            [conv("a", "x"), copy("b", "a", Finish(table=TABLE)), copy("y", "b", Finish(3, -20, 20), 3, 1)],
            "y",
        ),
    ),
    "two_readers_keep_the_pass": (
        fold_pointwise,
        graph({"x": X, "a": X, "y": X, "z": X}, [conv("a", "x"), copy("y", "a", Finish(0, 0, 100)), conv("z", "a")], "y", "z"),
    ),
    "pad_into_conv": (
        fold_pads,
        graph(
            {"x": X, "p": (1, 8, 9, 4), "y": (1, 6, 7, 4)},
            [
                Pool("p", ("x",), ("p",), PoolKind.MAX, Window((1, 1), (1, 1), (1, 1), (1, 1, 1, 2)), Finish(), 7),
                conv("y", "p", Window((3, 3))),
            ],
            "y",
        ),
    ),
    "pad_of_another_value_stays": (
        fold_pads,
        graph(
            {"x": X, "p": (1, 8, 8, 4), "y": (1, 8, 8, 4)},
            [
                Pool("p", ("x",), ("p",), PoolKind.MAX, Window((1, 1), (1, 1), (1, 1), (1, 1, 1, 1)), Finish(), 7),
                conv("y", "p"),
            ],
            "y",
        ),
    ),
    "channel_order": (
        fold_channels,
        graph(
            {"x": X, "a": X, "y": X},
            [conv("a", "x", groups=2), Conv("y", ("a",), ("y",), Window((1, 1)), ORDER, ONES, Finish())],
            "y",
        ),
    ),
    "identities": (
        remove_identities,
        graph({"x": X, "a": X, "b": X, "y": X}, [copy("a", "x"), Reshape("b", ("a",), ("b",)), conv("y", "b")], "y"),
    ),
    "equal_views": (
        share_equal,
        graph(
            {"x": X, "a": (1, 12, 6, 4), "b": (1, 12, 6, 4), "y": (1, 12, 6, 4)},
            [
                Upsample("a", ("x",), ("a",), (2, 1)),
                Upsample("b", ("x",), ("b",), (2, 1)),
                Eltwise("y", ("a", "b"), ("y",), EltwiseKind.ADD, 1, 1, 0, 1, Finish()),
            ],
            "y",
        ),
    ),
    "dead": (remove_dead, graph({"x": X, "a": X, "y": X}, [conv("a", "x"), conv("y", "x")], "y")),
    "copies": (
        insert_copies,
        graph(
            {"x": X, "a": X, "s": (1, 6, 6, 2), "y": (1, 6, 6, 10), "z": (1, 6, 6, 8)},
            [
                conv("a", "x"),
                Slice("s", ("a",), ("s",), (0, 0, 2)),
                Concat("y", ("a", "s", "x"), ("y",)),
                Concat("z", ("a", "x"), ("z",)),
            ],
            "y",
            "z",
        ),
    ),
    "nested_concats": (
        nest_concats,
        graph(
            {"x": X, "a": X, "b": X, "c": X, "t": (1, 6, 6, 12), "y": (1, 6, 6, 8), "z": (1, 6, 6, 16)},
            [
                conv("a", "x"), conv("b", "x"), conv("c", "x"), Concat("y", ("a", "b"), ("y",)),
                Concat("t", ("a", "b", "c"), ("t",)), Concat("z", ("a", "b", "c", "x"), ("z",)),
            ],
            "y",
            "z",
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pass_gives_this_text_and_computes_the_same(name: str, golden: Golden) -> None:
    step, before = CASES[name]
    after = verify(step(verify(before)))
    golden(Path(__file__).parent / "golden" / f"{name}.txt", print_graph(before).text + "\n" + print_graph(after).text)
    x = np.random.default_rng(1).integers(-128, 128, X).astype(np.int8)
    expected, found = execute(before, {"x": x}), execute(after, {"x": x})
    for output in before.outputs:
        assert (expected[output] == found[output]).all()


@pytest.mark.parametrize("name", CASES)
def test_all_passes_together_keep_the_function(name: str) -> None:
    before = CASES[name][1]
    after = optimised(before)
    x = np.random.default_rng(2).integers(-128, 128, X).astype(np.int8)
    expected, found = execute(before, {"x": x}), execute(after, {"x": x})
    assert all((expected[output] == found[output]).all() for output in before.outputs)


def test_each_pass_says_what_it_does() -> None:
    assert all((step.__doc__ or "").strip().endswith(".") for step in PASSES)


def test_verification_names_the_pass_that_broke_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(found: XGraph) -> XGraph:
        return replace(found, tensors={**found.tensors, "y": Tensor("y", (1, 5, 6, 4), Q)})

    monkeypatch.setattr("compiler.passes.pipeline.PASSES", (breaks,))
    with pytest.raises(Exception, match=r"pass breaks: graph g: operation y: shape of y is \(1, 5, 6, 4\)"):
        optimised(graph({"x": X, "y": X}, [copy("y", "x", Finish(0, 0, 9))], "y"))


def named(shapes: dict[str, Shape], ops: list[Op], other: dict[str, Quantisation]) -> XGraph:
    """With y as its output, and other meanings of some maps."""
    plain = graph(shapes, ops, "y")
    return replace(plain, tensors={name: replace(t, quantisation=other.get(name, Q)) for name, t in plain.tensors.items()})


def test_an_identity_stays_where_its_map_is_an_output_or_means_something_else() -> None:
    last = graph({"x": X, "y": X}, [copy("y", "x")], "y")
    assert [op.name for op in remove_identities(last).ops] == ["y"]
    wider = named({"x": X, "a": X, "y": X}, [copy("a", "x"), conv("y", "a")], {"a": Quantisation(0.25, 0)})
    assert [op.name for op in remove_identities(wider).ops] == ["a", "y"]
    reshaped = graph({"x": X, "a": (1, 36, 1, 4), "y": (1, 36, 1, 4)}, [Reshape("a", ("x",), ("a",)), conv("y", "a")], "y")
    assert [op.name for op in remove_identities(reshaped).ops] == ["a", "y"]


MEANS = Quantisation(0.25, 1)


@pytest.mark.parametrize(("kind", "other", "table"), [
    (PoolKind.MAX, True, True), (PoolKind.MAX, False, False), (PoolKind.AVERAGE, True, False), (PoolKind.AVERAGE, False, False),
])  # fmt: skip
def test_what_only_selects_gets_a_table_where_its_bytes_come_to_mean_something_else(
    kind: PoolKind, other: bool, table: bool
) -> None:
    """A copy that clamps, behind a pool: the pool clamps, too, but a maximum has no scale to say more with."""
    pool = Pool("a", ("x",), ("a",), kind, Window((2, 2)), Finish(), scales={4: (0, 1 << 22, 24)})
    shape = (1, 5, 5, 4)
    before = named(
        {"x": X, "a": shape, "y": shape}, [pool, copy("y", "a", Finish(0, 0, 100))],
        {"y": MEANS} | ({"a": MEANS} if kind is PoolKind.AVERAGE else {}) if other else {},
    )  # fmt: skip
    (after,) = fold_pointwise(before).ops
    assert isinstance(after, Pool)
    assert (after.finish.table is not None) == table
    x = np.random.default_rng(4).integers(-128, 128, X).astype(np.int8)
    assert np.array_equal(execute(before, {"x": x})["y"], execute(fold_pointwise(before), {"x": x})["y"])
