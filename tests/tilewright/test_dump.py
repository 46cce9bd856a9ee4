"""compile --dump: every stage as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compiler.passes.pipeline import PASSES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.printer import print_graph
from compiler.xgraph.stored import read_graph
from isa.program_file import load_program
from tests.tilewright.small_models import float_model, images, write_small_files
from tilewright.cli import main
from tilewright.compiling import compile_model
from tilewright.dump import Dump
from tilewright.exits import Exit

COMPILE = ("compile", "model.onnx", "--config", "nano", "--calibrate", "calibration.npz", "-o", "model.elf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a program, and what its compilation dumped."""
    made = tmp_path_factory.mktemp("dumped")
    write_small_files(made)
    words = [str(made / word) if word.startswith(("model.", "calibration.")) else word for word in COMPILE]
    assert main([*words, "--dump", str(made / "stages")]) == Exit.DONE
    return made


def test_a_graph_for_the_import_and_each_pass(folder: Path) -> None:
    graphs = sorted(path.name for path in (folder / "stages").glob("*.xgraph"))
    stages = ["import", *(step.__name__ for step in PASSES)]
    assert graphs == [f"{number:02d}_{stage}.xgraph" for number, stage in enumerate(stages)]


def test_each_graph_is_read_back(folder: Path) -> None:
    for path in (folder / "stages").glob("*.xgraph"):
        assert print_graph(read_graph(path)).text == path.read_text()


def test_what_is_compiled_comes_last_where_more_went_to_the_cpu() -> None:
    dump = Dump()
    compiled = compile_model(float_model(), "nano", calibration={"image": images(8)}, cache=False, watch=dump.graph)
    fewer = replace(compiled, imported=replace(compiled.imported, graph=XGraph("fewer", {}, (), (), ())))
    assert [name for name, _ in dump.files(compiled) if name.endswith("fitted.xgraph")] == []
    assert [name for name, _ in dump.files(fewer) if name.endswith("fitted.xgraph")] == [f"{len(PASSES) + 1:02d}_fitted.xgraph"]


def test_groups_with_their_plans(folder: Path) -> None:
    program = load_program(folder / "model.elf")
    text = (folder / "stages" / "groups.txt").read_text()
    layers = {record.layer for record in program.debug}
    assert "CPU part " in text
    assert {line.split()[1].rstrip(",") for line in text.splitlines() if line.startswith("    CONV")} <= layers
    assert text.count("\ngroup ") + text.startswith("group ") > 0
    assert "    map " in text


def test_every_instruction_once_under_its_layer(folder: Path) -> None:
    program = load_program(folder / "model.elf")
    found: dict[int, str] = {}
    layer = ""
    for line in (folder / "stages" / "instructions.s").read_text().splitlines():
        if line.startswith("; "):
            layer = line.removeprefix("; ").removeprefix("layer ")
        else:
            pc = int(line.rpartition("; ")[2].split()[0], 16)
            assert pc not in found
            found[pc] = layer
    assert {pc: name for pc, name in found.items() if name != "program"} == {r.pc: r.layer for r in program.debug}
    assert sorted(pc for pc, name in found.items() if name == "program")[0] == 0


def test_a_folder_that_cannot_be_made_is_refused_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(folder / word) if word.startswith(("model.", "calibration.")) else word for word in COMPILE]
    assert main([*words, "--dump", str(folder / "model.onnx")]) == Exit.BAD_INPUT
    assert "is not a folder" in capsys.readouterr().err
