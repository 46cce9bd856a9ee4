"""Another checkout is what is imported, with an empty cache, and its failure is told in its words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.checkout import revision, run_in
from bench.rtl_speed import COLUMNS, quickest
from isa.errors import TilewrightError


def test_a_checkout_is_imported_before_anything_else(tmp_path: Path) -> None:
    (tmp_path / "isa").mkdir()
    (tmp_path / "isa" / "__init__.py").write_text("HERE = 'the other'\n")
    program = "import isa, os; print(isa.HERE, os.listdir(os.environ['XDG_CACHE_HOME']))"
    printed, seconds = run_in(tmp_path, ["-c", program], "a look")
    assert printed == "the other []\n"
    assert seconds > 0


def test_what_a_checkout_keeps_the_next_look_finds(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    program = "import os, pathlib; pathlib.Path(os.environ['XDG_CACHE_HOME'], 'made').touch()"
    run_in(tmp_path, ["-c", program], "a look", kept)
    assert [file.name for file in kept.iterdir()] == ["made"]


def test_what_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=r"^a look in .*: failed with status 3: it said nothing$"):
        run_in(tmp_path, ["-c", "raise SystemExit(3)"], "a look")
    with pytest.raises(TilewrightError, match=r"status 1: ZeroDivisionError: division by zero$"):
        run_in(tmp_path, ["-c", "1 / 0"], "a look")


def test_revision_of_a_checkout(tmp_path: Path) -> None:
    identity = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    for command in (("init", "--quiet"), (*identity, "commit", "--quiet", "--allow-empty", "--message", "first")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert len(revision(tmp_path)) >= 7


def test_of_several_turns_the_quickest_figures_count() -> None:
    slow, fast = dict.fromkeys(COLUMNS[2:], 3.0), dict.fromkeys(COLUMNS[2:], 2.0)
    found = quickest([slow, fast])
    assert found.pop("cycles/s") == 3.0
    assert {found.pop("elaboration s"), found.pop("build s")} == {3.0}, "later turns find what the first has built"
    assert set(found.values()) == {2.0}
