"""Names in files command no terminal and end no line of what is printed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright
from isa.assembler import assemble
from isa.config import preset
from isa.debug import DebugRecord
from isa.errors import printable
from isa.program import Program
from isa.program_file import save_program
from tests.tilewright.small_models import chain_model, images
from tilewright.cli import main
from tilewright.printing import say

EVIL = "conv\x1b[2J\nMISC wait=\u202e"
SEEN = r"conv\x1b[2J\nMISC wait=\u202e"


def test_what_is_escaped() -> None:
    assert printable(EVIL) == SEEN
    assert printable("block 1/conv: é") == "block 1/conv: é"


def test_lines_are_printed_in_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    """Commands print lines with ``say``; what they print whole is made of names that were checked."""
    say(f"group {EVIL}", "the next line")
    assert capsys.readouterr().out == f"group {SEEN}\nthe next line\n"
    for path in (Path(tilewright.__file__).parent / "commands").glob("*.py"):
        assert all("nl=False" in line for line in path.read_text().splitlines() if "click.echo(" in line), path


def test_disassembly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = tuple(assemble("START config=CONFIG\nLOAD rows=1 pixels=4 run=3 region=INPUT\nEND", config=preset("nano")))
    save_program(Program(preset("nano"), words, input_bytes=48, debug=(DebugRecord(0, EVIL, 3),)), tmp_path / "evil.elf")
    assert main(["disasm", str(tmp_path / "evil.elf")]) == 0
    out = capsys.readouterr().out
    assert f"; 0x0000 {SEEN} tile 3" in out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 3


def test_compilation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = chain_model(2)
    model.graph.node[0].name, model.graph.node[1].name = EVIL, f"{EVIL}2"
    model.graph.node.append(onnx.helper.make_node("Hardmax", ["answer"], ["odd"], f"{EVIL}3"))
    model.graph.output.append(onnx.helper.make_tensor_value_info("odd", onnx.TensorProto.FLOAT, (1, 3, 6, 6)))
    onnx.save(model, tmp_path / "evil.onnx")
    np.savez(tmp_path / "images.npz", image=images(2))
    given = ["compile", str(tmp_path / "evil.onnx"), "--calibrate", str(tmp_path / "images.npz"), "--config", "nano"]
    assert main([*given, "--strategy", "naive", "-v", "-o", str(tmp_path / "e.elf")]) == 0
    out, err = capsys.readouterr()
    assert SEEN in out
    assert "\x1b" not in out + err
    assert "\nMISC wait" not in out + err


def test_every_command_that_prints_names_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = chain_model(2)
    model.graph.node[0].name, model.graph.node[1].name = EVIL, f"{EVIL}2"
    onnx.save(model, tmp_path / "evil.onnx")
    np.savez(tmp_path / "images.npz", image=images(2))
    given = [str(tmp_path / "evil.onnx"), "--calibrate", str(tmp_path / "images.npz"), "--config", "nano"]
    for words in (
        ["check", "--per-layer"], ["explain"], ["explain", "--schedule"], ["explain", "--architecture", "eyeriss"],
        ["compile", "--validate", str(tmp_path / "images.npz"), "-o", str(tmp_path / "evil.elf")],
    ):  # fmt: skip
        assert main([words[0], *given, *words[1:]]) == 0
        out, err = capsys.readouterr()
        assert "conv" in out
        assert "\x1b" not in out + err
        assert "\nMISC" not in out + err


def test_complaints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = chain_model(1)
    model.graph.node[0].op_type = EVIL
    onnx.save(model, tmp_path / "evil.onnx")
    assert main(["compile", str(tmp_path / "evil.onnx"), "-o", str(tmp_path / "e.elf")]) == 2
    _, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "\x1b" not in err
