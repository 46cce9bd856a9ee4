"""A guide that changes the tree, as its reader would: its blocks applied to a copy, its commands run there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = (
    "isa", "hw", "compiler", "sim", "driver", "tilewright", "demo", "docs", "pyproject.toml", "tests/conftest.py",
    "tests/skips.py", "tests/skips.json", "tests/compiler/graphs.py",
)  # fmt: skip
BLOCK = re.compile(
    r"(?:(?P<kind>In|The new file) `(?P<path>[^`]+)`:\n\n)?^```(?P<language>diff|python|sh)\n(?P<text>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
SHELL = f'set -e\npython() {{ "{sys.executable}" "$@"; }}\n'


class GuideError(AssertionError):
    """The guide says something that cannot be done to the tree."""


@dataclass(frozen=True)
class Block:
    """One step of a guide: an edit (``diff``), a new file (``python``), or commands (``sh``)."""

    language: str
    path: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Every ``diff``, ``python`` and ``sh`` block of a page; the first two say in the line before which file they are about."""
    for found in BLOCK.finditer(page):
        language, path = found["language"], found["path"] or ""
        expected = {"diff": "In", "python": "The new file", "sh": None}[language]
        if found["kind"] != expected:
            raise GuideError(f"a {language} block must follow a line '{expected} `path`:':\n{found['text']}")
        yield Block(language, path, found["text"])


def edited(text: str, diff: str) -> str:
    """The text after a diff: hunks, parted by ``@@``, each of which must be found once and only once."""
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        if any(line[0] not in " +-\n" for line in lines):
            raise GuideError(f"every line of a diff begins with a blank, + or -:\n{hunk}")
        old = "".join(line.removeprefix(" ").removeprefix("-") for line in lines if line[0] != "+")
        new = "".join(line.removeprefix(" ").removeprefix("+") for line in lines if line[0] != "-")
        places = [found.start() for found in re.finditer(f"^(?={re.escape(old)})", text, re.MULTILINE)]
        if len(places) != 1:
            raise GuideError(f"found {len(places)} times, expected once:\n{old}")
        text = text[: places[0]] + new + text[places[0] + len(old) :]
    return text


def copy_tree(folder: Path) -> None:
    """What a guide works on."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def apply(page: str, folder: Path) -> list[str]:
    """Make the changes of a page; the commands, which are to be run when all of them are made."""
    commands = []
    for block in blocks(page):
        path = folder / block.path
        if block.language == "sh":
            commands.append(block.text)
        elif block.language == "python":
            if path.exists():
                raise GuideError(f"{block.path}: the guide says that it is new, but it is there")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        else:
            path.write_text(edited(path.read_text(encoding="utf-8"), block.text), encoding="utf-8")
    return commands


def run(commands: str, folder: Path) -> str:
    """What shell commands print in that tree; none of them may fail."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**outer, "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    done = subprocess.run(
        ["bash", "-c", SHELL + commands], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise GuideError(f"{commands}{done.stdout}")
    return done.stdout
