"""Every script of ``bench/`` that is a command says what it takes, and refuses the rest before it measures anything."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from bench import configurations

BENCH = Path(__file__).parents[2] / "bench"
COMMANDS = sorted(path.stem for path in BENCH.glob("*.py") if "__main__" in path.read_text())


def ended(command: str, argument: str, monkeypatch: pytest.MonkeyPatch) -> object:
    """The exit code of a command with one argument."""
    monkeypatch.setattr(sys, "argv", [command, argument])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(BENCH / f"{command}.py"), run_name="__main__")
    return stopped.value.code


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_the_command(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(name, "--help", monkeypatch) == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m bench.{name} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_refused(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a command must be told something, that is missed first."""
    assert ended(name, "--no-such-option", monkeypatch) == 2
    said = capsys.readouterr().err
    assert "--no-such-option" in said or "the following arguments are required" in said


def test_the_size_of_networks_on_nano_may_stand_before_their_names() -> None:
    chosen = configurations.options(["nano", "--size", "32", "vgg16", "resnet50"])
    assert (chosen.first, chosen.size, chosen.more) == ("nano", 32, ["vgg16", "resnet50"])
