"""Folders that no interrupt leaves behind."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sim.rtl.interrupts import HeldInterrupts, temporary_folder


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """A suite that was started in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_folder_is_there_and_then_gone(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        assert folder.parent == tmp_path
        (folder / "file").write_text("x")
    assert list(tmp_path.iterdir()) == []


def interrupting(function: Any) -> Any:
    """The function, in whose midst an interrupt comes."""

    def interrupted(*arguments: Any, **named: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        result = function(*arguments, **named)
        signal.raise_signal(signal.SIGINT)
        return result

    return interrupted


@pytest.mark.parametrize(("module", "name"), [(tempfile, "mkdtemp"), (shutil, "rmtree")])
def test_an_interrupt_meanwhile_waits(module: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, name, interrupting(getattr(module, name)))
    entered = []
    with pytest.raises(KeyboardInterrupt), temporary_folder(tmp_path) as folder:
        entered.append(folder)
    monkeypatch.undo()
    assert len(entered) == (name == "rmtree")
    assert list(tmp_path.iterdir()) == []


def test_what_came_is_handed_on_once() -> None:
    held = HeldInterrupts()
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        held.release()
    held.release()
