"""Every script of ``bench/`` that is a command says what it takes, and refuses the rest before it measures anything."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from bench import configurations

BENCH = Path(__file__).parents[2] / "bench"
COMMANDS = sorted(path.stem for path in BENCH.glob("*.py") if "__main__" in path.read_text())


NEEDED = {
    "accuracy": "folder", "compile_times": "digits", "efforts": "digits", "native_speed": "digits", "outside": "folder",
    "schemes": "order", "strategies": "cycles",
}  # fmt: skip
"""What a command must be told, of those that must be told something."""
ELSEWHERE = {
    "accuracy": "wants packages with trained networks, unpacked",
    "array_size": "figures of a decision",
    "buffers": "rows of a decision",
    "compile_times": "wants another checkout beside it",
    "damaged": "counts of docs/results/proof.md, by seed and count",
    "driver_images": "counts of docs/results/proof.md, by seed and count",
    "first_page": "rows of the README",
    "finishing_lanes": "rows of a decision",
    "memory_random": "counts of docs/results/memory.md, printed",
    "outside": "wants models that others publish, unpacked",
    "proofs": "rows of docs/results/proof.md, by configuration",
    "stops": "counts of docs/results/proof.md, by seed and count",
}
"""What no target of the Makefile calls, and why."""


def ended(command: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """The exit code of a command."""
    monkeypatch.setattr(sys, "argv", [command, *arguments])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(BENCH / f"{command}.py"), run_name="__main__")
    return stopped.value.code


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_the_command(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(name, ["--help"], monkeypatch) == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m bench.{name} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_refused(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    needed = [NEEDED[name]] if name in NEEDED else []
    assert ended(name, [*needed, "--no-such-option"], monkeypatch) == 2
    assert "unrecognized arguments: --no-such-option" in capsys.readouterr().err


def test_the_makefile_calls_every_command() -> None:
    made = (BENCH.parent / "Makefile").read_text()
    assert {name for name in COMMANDS if f"bench.{name} " not in made.replace("\n", " ")} == set(ELSEWHERE)
    assert {name for name in re.findall(r"python -m bench\.(\w+)", made) if name not in COMMANDS} == set()


def test_the_size_of_networks_on_nano_may_stand_before_their_names() -> None:
    chosen = configurations.options(["nano", "--size", "32", "vgg16", "resnet50"])
    assert (chosen.first, chosen.size, chosen.more) == ("nano", 32, ["vgg16", "resnet50"])
