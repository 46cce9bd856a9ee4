"""The notebooks of examples: without outputs, shown by a page of the docs, and run cell by cell."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Golden

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*/*.ipynb"))
PRINTED = {
    "custom_configuration": "mine: 64 MAC/cycle", "edited_schedule": "each layer alone: 7 groups",
    "image_classification": "logits: equal",
}  # fmt: skip
"""A part of what each prints."""


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def shown(path: Path) -> str:
    """A notebook as a section of a page."""
    parts = []
    for cell in cells(path):
        text = "".join(cell["source"])
        parts.append(text.replace("# ", "## ", 1) if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts)


def page() -> str:
    head = "# Notebooks\n\nThose of `examples/`. `python examples/notebook.py NOTEBOOK.ipynb` runs one without Jupyter.\n\n"
    return head + "\n\n".join(map(shown, NOTEBOOKS)) + "\n"


def test_the_page_shows_them_as_they_are(golden: Golden) -> None:
    golden(ROOT / "docs/reference/notebooks.md", page())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_none_holds_what_it_printed(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("folder", [".", "examples/mine"])
def test_each_runs_from_the_clone_and_from_its_own_folder(
    folder: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / folder)
    monkeypatch.setattr(sys, "argv", ["notebook.py", str(path)])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(ROOT / "examples/notebook.py"))
    assert PRINTED[path.stem] in printed.getvalue()
