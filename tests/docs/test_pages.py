"""The pages: short, in short sentences, without dead links; what the code says of pages exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.prose import DOCS, GENERATED, longest, sentences, words, written

ROOT = DOCS.parent
MOST_WORDS, LONGEST = 25_000, 45
FIRST_PAGE = 150
"""Lines of the README."""
CONCEPT = 900
"""Words of two printed pages."""
PAGES = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("*/papers/**/*.md"))]
CONCEPTS, RESULTS = sorted((DOCS / "concepts").glob("*.md")), sorted((DOCS / "results").glob("*.md"))
BUILT = ("build", "dist")
KINDS = (".py", ".md", ".c", ".h", ".v", ".hpp")
OF_THEIR_OWN_FORM = ("accuracy.md", "others.md", "trained.md")
"""Pages of results that hold more than tables and commands."""


def anchors(page: Path) -> set[str]:
    """What can be linked to on a page: its headings, as GitHub and MkDocs write them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead_links(page: Path) -> list[str]:
    """Links of a page to files or headings that are not there."""
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        other = page.parent / path if path else page
        if not target.startswith("https://") and (not other.exists() or (anchor and anchor not in anchors(other))):
            dead.append(target)
    return dead


def test_the_words_are_few() -> None:
    counts = {page.relative_to(DOCS).as_posix(): words(page.read_text(encoding="utf-8")) for page in written()}
    assert len(counts) > 50
    assert sum(counts.values()) <= MOST_WORDS, "python -m tests.docs.prose counts them by folder"


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= FIRST_PAGE


def test_sentences_are_short() -> None:
    assert [found for found in longest(written(), 5) if found[0] > LONGEST] == []


@pytest.mark.parametrize("page", CONCEPTS, ids=lambda page: page.stem)
def test_a_concept_takes_two_pages_and_one_picture(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert words(text) <= CONCEPT
    assert text.count("![") == 1


@pytest.mark.parametrize("page", [page for page in RESULTS if page.name not in OF_THEIR_OWN_FORM], ids=lambda page: page.stem)
def test_results_have_a_summary_and_name_their_commands(page: Path) -> None:
    head, *sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(re.findall(r"^- ", head, re.MULTILINE)) == 5
    assert [section.splitlines()[0] for section in sections if "`" not in section] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert dead_links(page) == []


def test_pages_that_files_name_exist() -> None:
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "." and path.name not in BUILT]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in KINDS]
    dead = []
    for path in [*files, ROOT / "Makefile", ROOT / "pyproject.toml"]:
        named = re.findall(r"(?<![\w/.])docs/[\w/-]+\.(?:md|svg|png)", path.read_text(encoding="utf-8", errors="replace"))
        dead += [f"{path.relative_to(ROOT)}: {page}" for page in named if not (ROOT / page).exists()]
    assert len(files) > 1000
    assert dead == []


def test_modules_that_pages_name_exist() -> None:
    """Guides are left out: they name files that their readers make."""
    modules = [f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob("*/**/*.py")]
    dead = []
    for page in [*CONCEPTS, *sorted((DOCS / "decisions").glob("*.md"))]:
        named = re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8"))
        dead += [f"{page.name}: {name}" for name in named if not any(module.endswith(f"/{name}") for module in modules)]
    assert dead == []


def test_modules_that_docstrings_name_without_a_folder_are_in_their_own() -> None:
    dead = []
    for folder in ("compiler", "hw", "isa", "sim", "tilewright"):
        for path in (ROOT / folder).rglob("*.py"):
            named = re.findall(r"``(\w+\.py)``", path.read_text(encoding="utf-8"))
            dead += [f"{path.relative_to(ROOT)}: {name}" for name in named if not (path.parent / name).exists()]
    assert dead == []


def test_the_checks_notice(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n[here](#a-page), [there](none.md), [nowhere](#none), `[not](a link)`\n", encoding="utf-8")
    assert dead_links(page) == ["none.md", "#none"]
    text = "One. Two, three! `four.five` is\none word.\n\n- An item\n\n| a | table |\n\n```\ncode\n```\n"
    assert [words(each) for each in sentences(text)] == [1, 2, 4, 2]
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "table.md").write_text("much", encoding="utf-8")
    (tmp_path / GENERATED[0]).write_text("more", encoding="utf-8")
    assert written(tmp_path) == [page]
