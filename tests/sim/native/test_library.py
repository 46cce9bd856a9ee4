"""Libraries in C++ that are built once, and what there is where they cannot be built."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sim.native import library
from sim.native.library import Library
from sim.rtl.tools import MissingToolError, SimulatorError
from tests.tools import needs_cxx

SOURCE = """
#include "layout.h"
extern "C" bool answer(int *number) { *number = ANSWER; return true; }
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """A small one, and a cache of its own."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "answer.cpp").write_text(SOURCE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield Library("answer", folder, "answer.cpp", lambda: "constexpr int ANSWER = 42;\n", "answer")
    library._key.cache_clear()
    library._loaded.cache_clear()


def asked(own: Library) -> int:
    loaded = own.loaded()
    assert loaded is not None
    number = ctypes.c_int()
    assert loaded.answer(ctypes.byref(number)) is True
    return number.value


@needs_cxx
def test_it_is_built_once_beside_its_sources(own: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not own.is_built()
    assert own.loaded() is None
    path = own.built()
    assert path == own.folder / "built" / own.file
    assert own.is_built()
    assert asked(own) == 42
    monkeypatch.setattr(library, "run_tool", _fails)
    assert own.built() == path
    with pytest.raises(SimulatorError, match="built again"):
        own.built(own.folder / "elsewhere")


def _fails(command: Sequence[str], **_: object) -> None:
    raise SimulatorError("built again")


@needs_cxx
def test_what_is_compiled_is_known_by_its_text_and_takes_the_place_of_an_older_one(own: Library) -> None:
    first = own.built()
    (own.folder / "answer.cpp").write_text(SOURCE.replace("ANSWER;", "ANSWER + 1;"))
    library._key.cache_clear()
    assert not own.is_built()
    second = own.built()
    assert [*first.parent.glob("*.so")] == [second]
    assert asked(own) == 43


@needs_cxx
def test_where_the_sources_may_not_be_written_to_it_lies_in_the_cache(own: Library, tmp_path: Path) -> None:
    (own.folder / "built").touch()
    assert own.built() == tmp_path / "cache" / "tilewright" / "native" / own.file
    assert asked(own) == 42


def test_without_any_place_the_error_names_all(own: Library, tmp_path: Path) -> None:
    (own.folder / "built").touch()
    (tmp_path / "cache").touch()
    with pytest.raises(SimulatorError, match=r"none of .*sources/built, .*native can be written to; set XDG_CACHE_HOME"):
        own.built()


def test_a_compiler_that_is_missing_is_named(own: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "c++-of-tomorrow")
    with pytest.raises(MissingToolError, match=r"answer: the program 'c\+\+-of-tomorrow' is not on PATH"):
        own.built()


@needs_cxx
def test_sources_that_do_not_compile_are_an_error_and_leave_nothing(own: Library) -> None:
    (own.folder / "answer.cpp").write_text("nonsense")
    with pytest.raises(SimulatorError, match=r"(?s)the build of the answer failed with status 1.*nonsense"):
        own.built()
    assert not [*(own.folder / "built").glob("*.so")]


def test_what_cannot_be_loaded_is_as_if_it_were_not_there(own: Library) -> None:
    (own.folder / "built").mkdir()
    (own.folder / "built" / own.file).write_text("not a library")
    assert own.is_built()
    assert own.loaded() is None
