"""Pages and tables of the papers: what they name is there, and tables of a small network are whole."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from onnx import ModelProto

from bench.papers import deep_fusion, dnnvm, memory_scheduling, neocpu, optimus
from bench.papers.table import Table
from compiler.search.strategies import STRATEGIES
from compiler.zoo.networks import networks

ROOT = Path(__file__).parents[2]
PAPERS = {each.__name__.rpartition(".")[2]: each for each in (dnnvm, optimus, neocpu, memory_scheduling, deep_fusion)}
PAGES = {name: (ROOT / "compiler" / "papers" / name / "README.md").read_text() for name in PAPERS}


@pytest.mark.parametrize("name", PAPERS)
def test_files_that_a_page_names_are_there(name: str) -> None:
    folder = ROOT / "compiler" / "papers" / name
    named = set(re.findall(r"`((?:\.\./)?[\w/]+\.(?:py|md))", PAGES[name]))
    assert named
    assert [file for file in named if not (folder / file).is_file() and not (ROOT / file).is_file()] == []
    own = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    assert [file for file in own if f"`{file}`" not in PAGES[name] and file != "problem.py"] == []
    assert f"python -m bench.papers {name}" in PAGES[name]


def test_each_strategy_of_a_paper_stands_on_a_page() -> None:
    every = "".join(PAGES.values())
    assert [name for name in STRATEGIES if name not in ("naive", "best") and f"{name}`" not in every] == []


def test_a_table_is_markdown() -> None:
    lines = [*Table("Table 1", ("a", "b"), [("1", "2")], "Why.").lines()]
    assert lines == ["## Table 1\n", "Why.\n", "| a | b |", "|---|---|", "| 1 | 2 |", ""]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_rows_of_a_small_network_are_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Callable[..., ModelProto] = networks()["squeezenet"]
    small = {"squeezenet": lambda batch=1: whole(size=32, batch=batch)}
    for module in ("bench.strategies", "bench.papers.dnnvm", "bench.papers.memory_scheduling"):
        for function in ("networks", "zoo"):
            monkeypatch.setattr(sys.modules[module], function, lambda: small, raising=False)
    monkeypatch.setattr(optimus, "BUFFERS", ())
    for table in PAPERS[name].tables(("squeezenet",)):
        if table.title.startswith("Figure 15"):
            continue  # the choices of figure 14 again, and slow
        rows = [*table.rows]
        assert rows
        assert all(len(row) == len(table.columns) and all(isinstance(cell, str) for cell in row) for row in rows), table.title


def test_a_paper_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["papers", "resnet"])
    with pytest.raises(SystemExit):
        runpy.run_module("bench.papers", run_name="__main__")
    assert "invalid choice: 'resnet'" in capsys.readouterr().err
