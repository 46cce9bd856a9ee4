"""The commands with a TFLite model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.compiler.frontend.test_tflite import built, conv
from tilewright.cli import main
from tilewright.interpreter import MISSING


def test_check_counts_what_its_interpreter_computes_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(built(conv))
    code = main(["check", str(model), "--config", "nano", "--strategy", "naive"])
    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert "y: equal" in lines
    beside = "TFLite's interpreter beside onnxruntime's integer kernels: y: "
    assert lines[-1].startswith(beside)


def test_without_the_interpreter_check_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    model = tmp_path / "model.tflite"
    model.write_bytes(built(conv))
    assert main(["check", str(model), "--config", "nano", "--strategy", "naive"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == MISSING


def test_without_the_reader_the_remedy_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tflite", None)
    model = tmp_path / "model.tflite"
    model.write_bytes(built(conv))
    assert main(["compile", str(model), "-o", str(tmp_path / "net.elf")]) != 0
    assert "pip install 'tilewright[tflite]'" in capsys.readouterr().err
