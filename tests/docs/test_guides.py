"""The guides that change the machine and the compiler, followed to the letter in a copy of the tree."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.docs.guides import ROOT, GuideError, apply, blocks, copy_tree, edited, run

CHANGES = {
    "machine": ("fill.elf: 6 words for nano", "2 passed", "no mismatches"),
    "compiler": ("groups +[3-6]\n", "logits: equal", r"\d\. \w+ \+ \w+\n", "1 passed", "4 passed", "2 passed"),
}
"""Patterns of what the commands of each guide must have printed, among other things."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_guide_does_what_it_says(name: str, tmp_path: Path) -> None:
    copy_tree(tmp_path)
    commands = apply((ROOT / "docs" / "guides" / f"{name}.md").read_text(encoding="utf-8"), tmp_path)
    said = "".join(run(command, tmp_path) for command in commands)
    for expected in CHANGES[name]:
        assert re.search(expected, said), said
    if importlib.util.find_spec("ruff") is not None:
        run("python -m ruff check --no-cache .", tmp_path)


@pytest.mark.parametrize("name", ["board", "core", "model"])
def test_the_other_guides_are_console_blocks_alone(name: str) -> None:
    """Those are run by ``tests/test_architecture.py``."""
    assert list(blocks((ROOT / "docs" / "guides" / f"{name}.md").read_text(encoding="utf-8"))) == []


def test_a_hunk_is_found_once_or_refused() -> None:
    text = "one\ntwo\nthree\n  two\n"
    assert edited(text, " one\n-two\n+2\n@@\n three\n+four\n") == "one\n2\nthree\nfour\n  two\n"
    assert edited(text, "+zero\n one\n") == "zero\n" + text
    for wrong in (" five\n", "   two\n two\n", "-three\n-three\n"):
        with pytest.raises(GuideError, match="found 0 times"):
            edited(text, wrong)
    with pytest.raises(GuideError, match="found 2 times"):
        edited("one\none\n", " one\n")
    with pytest.raises(GuideError, match="begins with a blank"):
        edited(text, "one\n")


def test_a_block_says_which_file_it_is_about(tmp_path: Path) -> None:
    page = "In `a.py`:\n\n```diff\n x\n```\n\nThe new file `b.py`:\n\n```python\n```\n"
    assert [block.path for block in blocks(page)] == ["a.py", "b.py"]
    for wrong in ("```diff\n x\n```\n", "The new file `a.py`:\n\n```diff\n x\n```\n", "In `a.py`:\n\n```python\n```\n"):
        with pytest.raises(GuideError, match="must follow a line"):
            list(blocks(wrong))
    (tmp_path / "b.py").write_text("")
    with pytest.raises(GuideError, match="it is there"):
        apply("The new file `b.py`:\n\n```python\n```\n", tmp_path)


def test_a_command_that_fails_fails_the_guide(tmp_path: Path) -> None:
    assert run("python -c 'print(1)'\n", tmp_path) == "1\n"
    with pytest.raises(GuideError, match="false"):
        run("false\ntrue\n", tmp_path)
