"""The rules of the house that no linter knows: who imports whom, how long a file is, and that the documentation works."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tilewright.cli import main

ROOT = Path(__file__).parents[1]
PACKAGES = ("isa", "hw", "compiler", "sim", "driver", "tilewright", "soc")
MAY_IMPORT = {
    "isa": {"isa"},
    "hw": {"hw", "isa"},
    "compiler": {"compiler", "isa", "sim"},
    "sim": {"sim", "isa", "hw"},
    "driver": {"driver", "isa"},
    "tilewright": set(PACKAGES) - {"soc"},
    "soc": set(PACKAGES),
}
"""The packages of this project that a package may import."""
ELABORATES_HARDWARE = ("sim/rtl/", "sim/random/", "sim/proof/")
"""Where ``sim`` may import ``hw``: to elaborate the RTL that it runs or proves."""
FOLDERS_OF_THE_COMPILER = {
    "layers": {"layers", "instructions", "xgraph", "tuned"},
    "planning": {"planning", "layers", "memory", "instructions", "schedule", "xgraph", "tuned"},
    "emit": {"emit", "planning", "layers", "memory", "instructions", "schedule", "xgraph", "tuned"},
    "search": {"search", "fusion", "planning", "layers", "memory", "schedule", "xgraph", "tuned"},
    "programs": {
        "programs", "search", "fusion", "emit", "frontend", "passes", "planning", "layers", "memory", "instructions",
        "schedule", "xgraph", "tuned",
    },
}  # fmt: skip
"""What each folder on the way from operations to instructions may import: groups and plans are chosen without knowing their
emission, whole programs are; nobody needs what reproduces a paper."""
LINES = 400

SOURCES = sorted(path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TESTS = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))
PAGES = sorted(
    path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
)


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """Every module that a file imports, at the top or within a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            assert node.module is not None
            found.add(node.module)
    return frozenset(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_what_they_may(package: str) -> None:
    for path in (path for path in SOURCES if path.parts[0] == package):
        used = {module.split(".")[0] for module in imported_modules(path)}
        assert (used & {*PACKAGES, "tests"}) <= MAY_IMPORT[package], path
        if package == "sim" and "hw" in used:
            assert path.as_posix().startswith(ELABORATES_HARDWARE), path


@pytest.mark.parametrize("folder", FOLDERS_OF_THE_COMPILER)
def test_search_and_planning_know_nothing_of_emission(folder: str) -> None:
    paths = [path for path in SOURCES if path.parent == Path("compiler", folder)]
    used = {module.split(".")[1] for path in paths for module in imported_modules(path) if module.startswith("compiler.")}
    assert used <= FOLDERS_OF_THE_COMPILER[folder]


def test_only_the_driver_and_the_tuned_numbers_lie_beside_the_folders_of_the_compiler() -> None:
    assert {path.name for path in SOURCES if path.parent == Path("compiler")} == {"__init__.py", "driver.py", "tuned.py"}


def faults(path: Path) -> Iterator[str]:
    """What is not as it should be in a file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if text.count("\n") > LINES:
        yield f"{path} has more than {LINES} lines: it holds more than one concept"
    for unfinished in re.findall("|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplemented" + "Error")), text):
        yield f"{path}: {unfinished}"
    if not re.match(r'r?"""\S', text):
        yield f"{path}: no docstring says what it is"


def test_files_are_short_finished_and_documented() -> None:
    assert [fault for path in (*SOURCES, *TESTS) for fault in faults(path)] == []


def test_every_folder_of_a_package_is_one() -> None:
    folders = {path.parent for path in SOURCES}
    assert {folder for folder in folders if not (ROOT / folder / "__init__.py").exists()} == set()
    for folder in folders - {Path("tilewright"), Path("hw")}:  # what users import by that name
        body = ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8")).body
        assert len(body) == 1, f"{folder}/__init__.py holds more than its docstring"


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in TESTS]
    assert sorted(names) == sorted(set(names))


def test_links_of_the_documentation_lead_somewhere() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert target.startswith("https://") or (ROOT / page.parent / target).exists(), f"{page}: no {target}"


def console_blocks(page: Path) -> Iterator[str]:
    yield from re.findall(r"^```console\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


BLOCKS = [
    pytest.param(page, block, marks=pytest.mark.slow if page.parts[0] == "examples" else ())
    for page in PAGES for block in console_blocks(page)
]  # fmt: skip
"""Those of ``examples`` take seconds each."""
ONE_COMMAND = re.compile(r"tilewright (?P<words>[^|>;&$`]*?)(?P<rest> [|>].*)?")
"""``tilewright`` with its words, and where its output goes."""


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{block.values[0]}-{number}" for number, block in enumerate(BLOCKS)])
def test_commands_of_the_documentation_do_what_it_says(
    page: Path, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``$`` lines are run, one after the other; what follows is what they print (``...``: anything).

    The folder holds nothing but the clone's ``demo`` and ``examples``; ``tilewright`` and ``python`` are those of the tests.
    A line that begins with ``tilewright`` starts no process for it: to import the compiler takes longer than most of them.
    """
    for folder in ("demo", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        one = ONE_COMMAND.fullmatch(command)
        if one is None:
            said = in_a_shell(command)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("default")  # as in a process of its own
                main(shlex.split(one["words"]))
            printed, told = capsys.readouterr()
            said = (in_a_shell(f"cat{one['rest']}", printed) if one["rest"] else printed) + told
        pattern = ".*".join(re.escape(part) for part in expected.split("..."))
        assert re.fullmatch(pattern, said, re.DOTALL), said


def in_a_shell(command: str, given: str = "") -> str:
    """What it prints in the current folder."""
    shell = f'tilewright() {{ "{sys.executable}" -m tilewright "$@"; }}\npython() {{ "{sys.executable}" "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", shell + command], input=given, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr
