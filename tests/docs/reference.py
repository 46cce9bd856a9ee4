"""The pages of commands, of the Python API and of JSON, made from help texts, signatures, docstrings, and what dataclasses say
of their fields."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

import tilewright as tw
from tilewright.causes import Cause
from tilewright.cli import EXIT_CODES, app
from tilewright.compiling import compile_model
from tilewright.processors import PROCESSORS
from tilewright.profile.whole import Span, WholeTime
from tilewright.run_table import COLUMNS, RUN_COLUMNS
from tilewright.summary import Summary

ROOT = Path(__file__).parents[2]
CALLED = ("Session", "compile", "load", "Config", "Images", "Edges", "explore")
"""All others are what these give."""
WIDTH = 110
COMMANDS_HEAD = """# Commands

What each command says with `--help`. Commands that print data have `--json` ([keys](json.md)). Output files appear whole or
not at all. {codes} Shell completion: `eval "$(_TILEWRIGHT_COMPLETE=bash_source tilewright)"` (or `zsh_source`, `fish_source`).

"""
API_HEAD = """# Python API

`import tilewright as tw`. Everything here is typed. What cannot be used is a `tw.TilewrightError`: its text names it, what
was expected, and what helps.

```python
{example}
```

"""
JSON_HEAD = """# JSON

Every command with `--json` prints one object. `"format": 1` rises when a key changes its name or its meaning; new keys come
without. Keys are snake_case. What is not known is `null`: cycles on engines that know none, times of parts that the processor
cannot run.

"""

OTHERS = {
    "summary.as_dict()": "all above",
    "more": "with `--verbose` `plans`, `left_out_by_caps`, `inexact`, `layers`",
    "time.figures()": "*whole time*",
    "found.as_dict()": "`groups`, *whole time*, `spans`, `bound`, `groups_not_weighed`, `least_cycles`, `least_cycles_for`",
    "explored.as_dict()": (
        "`objective`, `constraints`, `models`, `weights`, `nodes_on_cpu`, `chip`, `limits`, `counts`, `certificate`, `chosen`, "
        "`front`, `estimate_errors`, `changes`, `proofs`"
    ),
    "tables()": "tables of the instruction set",
    "about": "`chip`, `chip_cores`, `capacity`",
    "dataclasses.asdict(config)": "the fields of the [configuration](configuration.md)",
    "_summary(config)": "what `config list` says",
    "dataclasses.asdict(found)": "groups on the accelerator",
    "dataclasses.asdict(result)": "programs, instructions, cycles, seconds, failures",
    "dataclasses.asdict(placed)": "device, clock, cells, path",
}
"""Keys that are not written out where they are printed."""


def commands_page() -> str:
    """docs/reference/commands.md."""
    lines = [COMMANDS_HEAD.format(codes=EXIT_CODES)]
    with app.make_context("tilewright", [], resilient_parsing=True) as top:
        for name in app.list_commands(top):
            lines += _helps(app.get_command(top, name), top, name)
    return "\n".join(lines).rstrip() + "\n"


def _helps(command: click.Command | None, above: click.Context, name: str) -> Iterator[str]:
    """The help text of a command, then those of its subcommands."""
    assert command is not None
    context = click.Context(command, parent=above, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    yield f"## {context.command_path}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            yield from _helps(command.get_command(context, part), context, part)


def api_page() -> str:
    """docs/reference/api.md."""
    doc = inspect.cleandoc(tw.__doc__ or "")
    example = "\n".join(line.removeprefix("    ") for line in doc.splitlines() if line.startswith("    "))
    lines = [API_HEAD.format(example=example)]
    for name in tw.__all__:
        if name == "__version__":
            lines.append("## tw.\\_\\_version\\_\\_\n\nThe version, as text.\n")
        else:
            lines += _entry(name, getattr(tw, name))
        if name == "compile":
            lines.append(f"`how`, of `compile`:\n\n```\n{inspect.getdoc(compile_model)}\n```\n")
    return "\n".join(lines).rstrip() + "\n"


def json_page() -> str:
    """docs/reference/json.md."""
    lines = [JSON_HEAD, "## compile\n", *_table(Summary, leave=("time", "causes"))]
    lines += ["`spans`: the run in its order, each with", "", *_table(Span)]
    lines += ["`causes`: what keeps nodes on the CPU, each with `why` and `remedy` and", "", *_table(Cause)]
    lines += [f"With `--verbose`, `layers`, each with {_names(COLUMNS)}.", ""]
    lines += [
        f"`--csv` has {_names(RUN_COLUMNS)}. The run is in its order: a row for each part and transfer, whose `layer` is "
        "empty, before those of its layers and nodes. All `ms` add up to the time end to end.", "",
    ]  # fmt: skip
    lines += ["## All commands", "", *_commands()]
    lines += ["`--cpu` names the processor. Where its times come from, and within which factor they are right:", ""]
    lines += ["| processor | | source | factor |", "|---|---|---|---|"]
    lines += [f"| {each.name} | {each.about} | {each.source} | {each.error:g} |" for each in PROCESSORS.values()]
    return "\n".join(lines).rstrip() + "\n"


def _commands() -> Iterator[str]:
    """What each gives to ``print_json``; one that is called in several ways has several lines."""
    (figures,) = _returned(WholeTime.figures)
    yield f"*Whole time*: {_names(ast.literal_eval(key) for key in map(ast.unparse, filter(None, figures.keys)))}."
    yield ""
    yield from ("| command | keys |", "|---|---|")
    for path in sorted((ROOT / "tilewright" / "commands").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print_json":
                given = node.args[0]
                keys = _keys(given) if isinstance(given, ast.Dict) else OTHERS[ast.unparse(given)]
                yield f"| {path.stem} | {keys} |"
    yield ""


def _keys(given: ast.Dict) -> str:
    pairs = zip(given.keys, given.values, strict=True)
    return ", ".join(OTHERS[ast.unparse(value)] if key is None else f"`{ast.literal_eval(key)}`" for key, value in pairs)


def _returned(function: Callable[..., object]) -> list[ast.Dict]:
    """The dictionaries that a method returns."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict)]


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(kind: type, leave: tuple[str, ...] = ()) -> Iterator[str]:
    yield from ("| key | is | |", "|---|---|---|")
    said = field_docs(kind)
    for field in dataclasses.fields(kind):
        if field.name not in leave:
            yield f"| {field.name} | {str(field.type).replace('|', 'or')} | {said.get(field.name, '').replace('``', '`')} |"
    yield ""


def field_docs(kind: type) -> dict[str, str]:
    """What stands below each field in the class."""
    body = next(node for node in ast.parse(inspect.getsource(kind)).body if isinstance(node, ast.ClassDef)).body
    found = {}
    for before, after in pairwise(body):
        text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and text:
            found[before.target.id] = " ".join(str(ast.literal_eval(ast.unparse(after))).split())
    return found


def _entry(name: str, thing: Any) -> Iterator[str]:
    yield f"## tw.{name}\n"
    if name in CALLED:
        yield f"```python\n{name}{_signature(thing)}\n```\n"
    yield f"{_text(thing)}\n"
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for member, what in _members(thing):
            yield f"- `{member}`{f': {what}' if what else ''}"
        yield ""


def _signature(thing: Any) -> str:
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(thing)))


def _text(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").replace("``", "`").split())


def _members(kind: type) -> Iterator[tuple[str, str]]:
    """Public attributes and methods, those of the package's own base classes included."""
    seen: set[str] = set()
    for each in (base for base in kind.__mro__ if base.__module__.partition(".")[0] in ("tilewright", "compiler")):
        said = field_docs(each)
        fields = [field.name for field in dataclasses.fields(each)] if dataclasses.is_dataclass(each) else []
        for name in [*said, *fields, *each.__dict__]:
            if name.startswith("_") or name in seen or name not in (*said, *fields, *each.__dict__):
                continue
            seen.add(name)
            thing = each.__dict__.get(name)
            if inspect.isfunction(thing):
                yield f"{name}{_signature(thing).replace('self, ', '').replace('(self)', '()')}", _text(thing)
            elif isinstance(thing, staticmethod):
                yield f"{name}{_signature(thing.__func__)}", _text(thing.__func__)
            elif isinstance(thing, property | cached_property):
                yield name, _text(thing)
            else:
                yield name, said.get(name, "").replace("``", "`")
