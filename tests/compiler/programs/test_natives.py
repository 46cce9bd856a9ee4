"""Libraries of the compiler itself: built before long programs are timed, or by a command, or not at all."""

from __future__ import annotations

import sys

import pytest

from compiler.programs import natives
from sim.native.library import Library
from sim.rtl.tools import MissingToolError


@pytest.mark.parametrize("builds", [True, False])
def test_the_first_long_programs_wait_for_what_is_missing(builds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or go on without it where it cannot be built."""
    told: list[str] = []
    built: list[str] = []

    def build(library: Library) -> None:
        built.append(library.what)
        if not builds:
            raise MissingToolError("no compiler")

    monkeypatch.setenv("CXX", sys.executable)
    monkeypatch.setattr(Library, "is_built", lambda library: library.what == "scheduler")
    monkeypatch.setattr(Library, "built", build)
    natives.prepare(told.append, natives.SHORT + 1)
    assert told == ["search: parts of the compiler are compiled, once on this computer"]
    assert built == ["cycle model"]
    monkeypatch.setattr(Library, "is_built", lambda _: True)
    natives.prepare(told.append, natives.SHORT + 1)
    assert len(told) == len(built) == 1


def test_without_a_compiler_nothing_is_told_or_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "c++-of-tomorrow")
    monkeypatch.setattr(Library, "is_built", lambda _: False)
    monkeypatch.setattr(Library, "built", None)
    told: list[str] = []
    natives.prepare(told.append, natives.SHORT + 1)
    assert told == []


def test_the_command_says_what_goes_on_in_python(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def build(library: Library) -> str:
        if library.what == "scheduler":
            raise MissingToolError("no compiler")
        return "/where/it/is.so"

    monkeypatch.setattr(Library, "built", build)
    natives.main()
    said = capsys.readouterr()
    assert said.out == "/where/it/is.so\n"
    assert said.err == "no compiler\nuntil then Python does the work of the scheduler, and takes longer\n"
