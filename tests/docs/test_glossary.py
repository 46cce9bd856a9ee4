"""The glossary: every word once, and the file that it points at is there and knows the word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| word |")
]


def test_every_word_is_there_once() -> None:
    words = [word for word, _, _ in ROWS]
    assert len(words) > 30
    assert sorted(words) == sorted(set(words))


@pytest.mark.parametrize(("word", "place"), [(word, place) for word, _, place in ROWS])
def test_the_place_knows_the_word(word: str, place: str) -> None:
    path = ROOT / place.strip("`") if place.startswith("`") else ROOT / "docs" / "reference" / re.findall(r"\((.+)\)", place)[0]
    last = word.split()[-1]
    assert re.search(rf"{last}s?\b", path.read_text(encoding="utf-8"), re.IGNORECASE), f"{path.name} says nothing of {word}"


def test_each_file_of_the_compiler_has_a_name_of_its_own() -> None:
    """Singular or plural: what is one thing stands in one place. Front end, quantisation, networks and papers apart."""
    apart = ("frontend", "quantise", "zoo", "papers")
    stems: dict[str, list[str]] = {}
    for path in (ROOT / "compiler").rglob("*.py"):
        inside = path.relative_to(ROOT / "compiler")
        if inside.parts[0] not in apart and path.stem != "__init__":
            stems.setdefault(path.stem.removesuffix("s"), []).append(str(inside))
    assert {stem: paths for stem, paths in stems.items() if len(paths) > 1} == {}
