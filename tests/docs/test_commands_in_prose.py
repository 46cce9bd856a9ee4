"""Commands that the documentation and the help texts only mention: they exist, and take the options that are named.

Blocks of them are run (``tests/test_architecture.py``, ``test_guides.py``); these would take too long, or are patterns.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tilewright.cli import COMMANDS, EXIT_CODES, app, main
from tilewright.exits import Exit

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
MINE = 'base = "nano"\nname = "mine"\n'


def mentioned(page: Path) -> Iterator[str]:
    """What stands between single back-quotes, and in indented blocks; not what is run anyway."""
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"`([^`]+)`", text)
    yield from (line.partition("#")[0].strip() for line in re.findall(r"^    (\S.*)$", text, re.MULTILINE))


def parse(line: str) -> None:
    """A ``click`` error if there is no such command, or if it does not take these words; arguments may be left out."""
    words = shlex.split(line.partition(">")[0])[1:]
    with app.make_context("tilewright", words, resilient_parsing=True) as context:
        command: click.Command = app
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            name = words.pop(0)
            found = command.get_command(context, name)
            if found is None:
                raise click.UsageError(f"no command {name!r}")
            command = found
        try:
            command.make_context("", words, parent=context)
        except (click.MissingParameter, click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):
            return


COMMAND_LINES = sorted({(str(page), line) for page in PAGES for line in mentioned(page) if re.match(r"tilewright( |$)", line)})


@pytest.mark.parametrize(("page", "line"), COMMAND_LINES)
def test_a_command_that_is_mentioned_parses(page: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(MINE)
    parse(re.sub(r"\b(FILE|CONFIG)\b", "mine.toml", line))


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_the_help_parse(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(MINE)
    assert main([name, "--help"]) == 0
    examples = re.findall(r"^    (tilewright .+)$", capsys.readouterr().out, re.MULTILINE)
    assert examples
    for example in examples:
        parse(example)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_targets_and_scripts_that_are_mentioned_exist(page: Path) -> None:
    for line in mentioned(page):
        if found := re.match(r"make ([a-z0-9-]+)", line):
            assert found[1] in TARGETS, line
        if found := re.match(r"python -m ([\w.]+)", line):
            assert importlib.util.find_spec(found[1]) is not None, line


def test_the_targets_of_make_are_in_its_help() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = set(re.findall(r'@echo "make ([a-z0-9-]+) ', makefile))
    assert TARGETS - {"tools", "help"} == listed
    assert {"demo", "test", "rtl-full", "fuzz", "bench"} <= listed


@pytest.mark.parametrize(
    "line",
    ["tilewright frobnicate", "tilewright run --frobnicate", "tilewright fuzz --count none", "tilewright config wipe"],
)
def test_the_check_refuses_what_does_not_exist(line: str) -> None:
    with pytest.raises(click.UsageError):
        parse(line)


def test_every_exit_code_is_told() -> None:
    assert sorted(int(code) for code in re.findall(r"\b\d+\b", EXIT_CODES)) == sorted(Exit)
