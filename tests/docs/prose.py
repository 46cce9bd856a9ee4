"""Words and sentences of the pages: ``python -m tests.docs.prose`` prints them by folder, and the longest sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
GENERATED = ("api.md", "commands.md", "configuration.md", "conformance.md", "isa.md", "json.md", "notebooks.md", "refusals.md")
"""Pages of docs/reference that are made from the code."""
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|vs)\.")
BULLET = re.compile(r"^\s*(?:[-*]|\d+\.) ")


def written(docs: Path = DOCS) -> list[Path]:
    """The pages that people write: all but results and what is generated."""
    pages = sorted(docs.rglob("*.md"))
    return [page for page in pages if "results" not in page.relative_to(docs).parts[:-1] and page.name not in GENERATED]


def words(text: str) -> int:
    """As ``wc -w`` counts them: tables, code and all."""
    return len(text.split())


def sentences(text: str) -> Iterator[str]:
    """Those of paragraphs and lists; code, tables and headings have none."""
    for paragraph in _paragraphs(text):
        plain = ABBREVIATIONS.sub(r"\1", re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", paragraph)))
        yield from (found for found in re.split(r"(?<=[.?!])[*)\]]*\s+", plain) if found.strip())


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs and items of lists, each in one line."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    collected: list[str] = []
    for line in [*text.splitlines(), ""]:
        ends = not line.strip() or line.startswith(("#", "|", "    ")) or BULLET.match(line)
        if ends and collected:
            yield " ".join(collected)
            collected = []
        if line.strip() and not line.startswith(("#", "|", "    ")):
            collected.append(BULLET.sub("", line).strip())


def longest(pages: list[Path], count: int) -> list[tuple[int, Path, str]]:
    """The longest sentences of these pages, with their words."""
    found = [(words(each), page, each) for page in pages for each in sentences(page.read_text(encoding="utf-8"))]
    return sorted(found, key=lambda item: -item[0])[:count]


def main() -> None:
    folders: dict[str, int] = {}
    for page in sorted(DOCS.rglob("*.md")):
        folder = page.parent.relative_to(DOCS).as_posix() + (" (generated)" if page.name in GENERATED else "")
        folders[folder] = folders.get(folder, 0) + words(page.read_text(encoding="utf-8"))
    for folder, count in folders.items():
        print(f"{count:7,} words  {folder}")
    pages = written()
    lengths = [words(each) for page in pages for each in sentences(page.read_text(encoding="utf-8"))]
    print(f"{sum(words(page.read_text(encoding='utf-8')) for page in pages):7,} words  written by people, results apart")
    print(f"{len(lengths):,} sentences, {sum(lengths) / len(lengths):.1f} words in the mean, {max(lengths)} at most")
    for count, page, text in longest(pages, 10):
        print(f"{count:4} {page.relative_to(DOCS)}: {text[:110]}")


if __name__ == "__main__":
    main()
