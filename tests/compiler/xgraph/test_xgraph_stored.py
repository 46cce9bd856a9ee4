"""Graphs in files are read back as they were, and what is not whole is refused with its file, its line and a remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.ops import Concat, Cpu, EltwiseKind, PoolKind, Port, Slice, Upsample
from compiler.xgraph.parser import OPERATIONS
from compiler.xgraph.printer import print_graph
from compiler.xgraph.reference import execute
from compiler.xgraph.stored import CONSTANTS, constants_file, read_graph
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import random_graph


def stored(folder: Path, *graphs: XGraph) -> list[Path]:
    """The graphs, and beside them the constants of all."""
    printed = [print_graph(graph) for graph in graphs]
    paths = [folder / f"{number}.xgraph" for number in range(len(graphs))]
    for path, each in zip(paths, printed, strict=True):
        path.write_text(each.text, encoding="utf-8")
    constants = {name: value for each in printed for name, value in each.constants.items()}
    (folder / CONSTANTS).write_bytes(constants_file(constants))
    return paths


def every_operation() -> XGraph:
    """But Interleave and Reshape, which have no constants."""
    b = Builder(5)
    x = b.eltwise(EltwiseKind.PASS, b.conv(b.input(6, 6, 4), 4), table=True)
    y = b.pool(b.transpose(b.pool(x, PoolKind.AVERAGE, 2, 2, 0, False), 4), PoolKind.MAX)
    up = b.view(Upsample, "up", (y,), (1, 6, 6, 4), factor=(2, 2))
    joined = b.view(Concat, "joined", (up, x), (1, 6, 6, 8))
    made = b.view(Slice, "cut", (joined,), (1, 6, 6, 5), begin=(0, 0, 2))
    port = Port("asked", made, (((180, 1),), ((30, 6), (5, 6)), ((1, 5),)))
    b.tensors["answer"] = replace(b.tensors[made], name="answer")
    reasons = {"node": "nobody knows it"}
    b.ops.append(Cpu("host", (made,), ("answer",), b"a part of a model", reasons, ("asked",), ("found",), (port,)))
    return b.graph("answer")


def test_every_operation_and_empty_constants(tmp_path: Path) -> None:
    graph = every_operation()
    (path,) = stored(tmp_path, graph)
    again = read_graph(path)
    assert print_graph(again).text == print_graph(graph).text
    part = again.ops[-1]
    assert isinstance(part, Cpu)
    assert part.model == b"a part of a model"
    (tmp_path / CONSTANTS).write_bytes(constants_file({"none": b""}))
    with pytest.raises(GraphError, match=r"0\.xgraph, line \d+: .* constant \w+ is not in .*constants\.npz; keep both"):
        read_graph(path)


def test_random_graphs_share_one_file_of_constants(tmp_path: Path) -> None:
    graphs = [random_graph(seed, 6) for seed in range(12)]
    for graph, path in zip(graphs, stored(tmp_path, *graphs), strict=True):
        again = read_graph(path)
        assert print_graph(again).text == print_graph(graph).text
        rng = np.random.default_rng(0)
        inputs = {name: rng.integers(-128, 128, graph.tensors[name].shape).astype(np.int8) for name in graph.inputs}
        found, expected = execute(again, inputs), execute(graph, inputs)
        assert all(np.array_equal(found[name], expected[name]) for name in graph.outputs)


def without_constants(path: Path) -> None:
    (path.parent / CONSTANTS).unlink()


def half_constants(path: Path) -> None:
    beside = path.parent / CONSTANTS
    beside.write_bytes(beside.read_bytes()[: beside.stat().st_size // 2])


def others_constants(path: Path) -> None:
    """Of the same names, other extents."""
    (path.parent / CONSTANTS).write_bytes(
        constants_file({name: np.zeros(3, np.int8) for name in print_graph(chain()).constants})
    )


def cut_in_a_line(path: Path) -> None:
    path.write_text(path.read_text()[:-30])


def cut_after_a_line(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def without_the_first_line(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))


def replaced(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


def chain() -> XGraph:
    b = Builder(0)
    return b.graph(b.pool(b.conv(b.input(6, 6, 4), 4), PoolKind.MAX))


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "no constants": (without_constants, r"0\.xgraph, line 5: .*constant \w+ is not in .*constants\.npz, which is missing"),
    "half the constants": (half_constants, r"constants\.npz: not an NPZ file"),
    "other constants": (others_constants, r"line 5: .*constant \w+ is int8 3 in .*constants\.npz, expected int8 4x3x3x4"),
    "half a line": (cut_in_a_line, r"0\.xgraph, line 6: .*cannot be read: .*never closed; expected what print_graph writes"),
    "a line less": (cut_after_a_line, r"0\.xgraph: graph test: output max1_out is never made; a line for it is missing"),
    "no first line": (without_the_first_line, r"0\.xgraph: no line graph\(\.\.\.\) names the inputs and outputs; it is the"),
    "no such operation": (replaced("Pool(", "Melt("), r"line 6: .*unknown operation Melt; known are Conv, ConvTranspose, "),
    "no such kind": (replaced("PoolKind.MAX", "PoolKind.MOST"), r"line 6: .*unknown PoolKind.MOST; known are MAX, AVERAGE"),
    "no such field": (replaced("pad_value", "padding"), r"line 5: .*cannot be read: .*unexpected keyword argument 'padding'"),
    "of another type": (
        replaced("kernel=(2, 2)", "kernel=(2, '2')"),
        r"line 6: .*kernel of Window is \(2, '2'\), expected tuple\[int, int\]",
    ),
    "no name": (replaced("Pool(name='max1'", "Pool('max1'"), r"line 6: .*arguments of Pool are not what print_graph writes"),
    "no array": (replaced("weights=constant", "weights=0 or constant"), r"line 5: .*cannot be read"),
    "a number": (replaced("graph('test'", "graph(0"), r"line 1: .*arguments of graph are not what print_graph writes"),
    "no outputs": (replaced(", outputs=('max1_out',))\nT", ")\nT"), r"line 1: a graph, a tensor or an operation is expected"),
    "wrong shape": (replaced("(1, 3, 3, 4)", "(1, 3, 3, 5)"), r"0\.xgraph: graph test: operation max1: channels is 5, 4 is"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_not_whole_is_refused(damage: str, tmp_path: Path) -> None:
    (path,) = stored(tmp_path, chain())
    change, message = DAMAGES[damage]
    change(path)
    with pytest.raises(TilewrightError, match=message):
        read_graph(path)


def test_what_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"none\.xgraph cannot be read: No such file .*; expected a graph that compile --dump"):
        read_graph(tmp_path / "none.xgraph")
    (tmp_path / "odd.xgraph").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GraphError, match=r"odd\.xgraph: not text; expected a graph that compile --dump wrote"):
        read_graph(tmp_path / "odd.xgraph")


def test_any_line_cut_anywhere_is_refused_and_never_fails(tmp_path: Path) -> None:
    """But at the ends of lines whose operations nobody misses: there are none here."""
    (path,) = stored(tmp_path, chain())
    text = path.read_text()
    for length in range(0, len(text) - 1, 7):
        path.write_text(text[:length])
        with pytest.raises(GraphError):
            read_graph(path)


def test_every_kind_is_known_by_its_name() -> None:
    assert all(kind.__name__ == name for name, kind in OPERATIONS.items())
