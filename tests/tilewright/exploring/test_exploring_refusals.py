"""What cannot be explored is told in one line that names it, with exit code 2."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.tilewright.small_models import hosted_model, work_beside_small_files
from tilewright.cli import main

SPACE = "ic_p = [4]\noc_p = [4]\n"
ASKED = ("explore", "--model", "model.onnx", "--calibrate", "calibration.npz", "--config", "nano", "--space", "space.toml",
         "--effort", "quick", "--workers", "1")  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work_beside_small_files(tmp_path, monkeypatch)
    (tmp_path / "space.toml").write_text(SPACE)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--chip", "XC2064"), "'XC2064' is unknown; known are"),
        ((), "no chip and no number of LUTs; give --chip NAME, or at least --luts"),
        (("--chip", "XC7Z010", "--objective", "speed"), "--objective: 'speed' is unknown; known are fps, latency"),
        (("--luts", "0"), "--luts: 0; expected a number above 0"),
        (("--luts", "90000", "--bandwidth", "-1"), "--bandwidth: -1; expected a number above 0"),
        (("--luts", "90000", "--clock", "0"), "clock_mhz: 0 is outside 1..2000"),
        (("--luts", "90000", "--weight", "1:2"), "2 weights for 1 models"),
        (("--luts", "90000", "--weight", "0"), "--weight: 0; expected numbers above 0"),
        (("--luts", "90000", "--average", "median"), "--average: 'median' is unknown"),
        (("--luts", "90000", "--machines", "0"), "--machines: 0; expected 1 or more"),
        (("--luts", "90000", "--toml", "1", "--json"), "--toml: prints TOML; leave --json and -o out"),
        (("--luts", "90000", "--constraint", "fps > 3"), "'fps > 3' is none; expected a figure and a limit"),
        (("--luts", "90000", "--constraint", "fsp >= 3"), "figure 'fsp' is unknown, did you mean 'fps'?"),
        (("--luts", "90000", "--constraint", "fps(other) >= 3"), "no fps of 'other'; models are model"),
        (("--luts", "90000", "--constraint", "luts(model) <= 3"), "it is the machine's; leave the model out"),
        (("--luts", "90000", "--constraint", "latency <= 0"), "no machine has so little"),
        (
            ("--luts", "90000", "--constraint", "fps >= 30", "--constraint", "fps <= 20"),
            "fps >= 30 and fps <= 20 contradict each other",
        ),
        (("--chip", "XCK26", "--luts", "900"), "the closest is 4x4x1_"),
        (("--luts", "90000", "--bandwidth", "1e6"), "bandwidth: it takes 480.00 times the 1e+06 bytes a second"),
        (("--luts", "90000", "--latency", "1e6"), "times what its beats on the way cover (axi_read_ahead)"),
        (("--luts", "90000", "--constraint", "fps(model) >= 1e9"), "fps(model) >= 1e+09: at best"),
    ],
)
def test_bad_use_is_told_in_a_line(words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert err.count("\n") == 1, err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ic_q = [4]", "axis 'ic_q' is unknown, did you mean 'ic_p'?"),
        ("ic_p = 4", "axis ic_p: 4 is not a list of whole numbers, as [8, 16]"),
        ("ic_p = []", "axis ic_p: [] is not a list of whole numbers"),
        ("", "has no axis; give one, as ic_p = [8, 16]"),
        ("ic_p = [", "not TOML"),
        ("fm_banks = [5]\npx_p = [2]", "none, for no values of the space go together"),
    ],
)
def test_a_space_that_is_none(text: str, told: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "space.toml").write_text(text)
    assert main([*ASKED, "--luts", "90000"]) == 2
    assert told in capsys.readouterr().err


def test_a_model_without_a_layer_for_the_machine(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(hosted_model(), here / "hosted.onnx")
    assert main(["explore", "--model", "hosted.onnx", "--luts", "90000", "--config", "nano", "--space", "space.toml"]) == 2
    assert "model hosted: no layer of it is for the machine" in capsys.readouterr().err


def test_two_models_of_one_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "again").mkdir()
    (here / "again" / "model.onnx").write_bytes((here / "model.onnx").read_bytes())
    assert main([*ASKED, "--luts", "90000", "--model", "again/model.onnx"]) == 2
    assert "two models are called 'model'; rename one of the files" in capsys.readouterr().err
