"""What a spent budget of time leaves behind."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from isa.errors import TilewrightError
from tilewright.interrupts import time_budget


def _read_for_ever(path: Path) -> None:
    file = path.open("rb")
    while file.seek(0) == 0:
        file.read()


def test_a_file_that_was_open_when_time_ran_out_prints_no_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"0" * 1000)
    with pytest.raises(TilewrightError, match=r"^check: not done within 0\.01 "), time_budget(0.01, "check", "give more"):
        _read_for_ever(path)
    gc.collect()
    assert capsys.readouterr().err == ""
