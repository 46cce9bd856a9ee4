"""Mutants of compiler and functional simulator: ``python -m bench.python_mutants [--count N] [--seed S] [folder ...]``.

A mutant is one change of one place in a Python source: a comparison, an operator of arithmetic, a number, a condition, a
boundary. It is killed if the tests of its folder (``tests/`` with the same path) fail, or take too long. Mutants are drawn by
seed from all places, and run as a campaign; each works on a copy of the tree. One row for each folder goes into docs/trust.md,
survivors below it.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.network_table import PAGE, put_row, put_text
from sim.campaign.arguments import add_arguments, how_of
from sim.campaign.run import Lost, campaign

ROOT = Path(__file__).parents[1]
TITLE = "Mutants of compiler and simulator"
COLUMNS = ("folder", "mutants", "killed", "share")
SECONDS = 900
"""For the tests of one mutant: one that loops for ever is killed by the clock."""
FOLDERS: dict[str, tuple[str, ...]] = {
    "sim/functional": ("tests/sim/functional",),
    "compiler/emit": ("tests/compiler/emit", "tests/compiler/memory"),
    "compiler/frontend": ("tests/compiler/frontend",),
    "compiler/fusion": ("tests/compiler/fusion",),
    "compiler/layers": ("tests/compiler/layers", "tests/compiler/planning", "tests/compiler/emit"),
    "compiler/memory": ("tests/compiler/memory",),
    "compiler/passes": ("tests/compiler/passes",),
    "compiler/planning": ("tests/compiler/planning",),
    "compiler/quantise": ("tests/compiler/quantise",),
    "compiler/schedule": ("tests/compiler/schedule",),
    "compiler/search": ("tests/compiler/search",),
    "compiler/xgraph": ("tests/compiler/xgraph",),
}
"""Sources, and the tests that are to notice."""
COPIED = ("compiler", "isa", "sim", "hw", "driver", "tilewright", "tests", "demo", "bench", "docs", "pyproject.toml")
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    path: str
    number: int
    """Of the change, among all of this file."""
    line: int
    change: str


def mutants_of(path: str) -> list[Mutant]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return [Mutant(path, number, line, change) for number, (line, change, _) in enumerate(_changes(tree))]


def mutated(mutant: Mutant) -> str:
    """The source of the file with the change."""
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
    for number, (_, _, apply) in enumerate(_changes(tree)):
        if number == mutant.number:
            apply()
            break
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _changes(tree: ast.Module) -> Iterator[tuple[int, str, Any]]:
    """Line, description, and what makes the change; nothing within annotations, texts and what is raised."""
    for node in _code(tree):
        if isinstance(node, ast.Compare):
            for place, operator in enumerate(node.ops):
                for other in COMPARISONS[type(operator)]:
                    what = f"{_name(operator)} to {other.__name__}"
                    yield node.lineno, what, lambda n=node, p=place, o=other: _set(n.ops, p, o())
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC and not _of_texts(node):
            other_op = ARITHMETIC[type(node.op)]
            yield node.lineno, f"{_name(node.op)} to {other_op.__name__}", lambda n=node, o=other_op: setattr(n, "op", o())
        elif isinstance(node, ast.BoolOp):
            swapped = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield node.lineno, f"{_name(node.op)} to {swapped.__name__}", lambda n=node, o=swapped: setattr(n, "op", o())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.lineno, "Not dropped", lambda n=node: _twice(n)
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node.lineno, f"{node.value} to {node.value + 1}", lambda n=node: setattr(n, "value", n.value + 1)
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            yield node.lineno, f"{node.value} to {not node.value}", lambda n=node: setattr(n, "value", not n.value)
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield node.lineno, "condition negated", lambda n=node: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))


def _twice(node: ast.UnaryOp) -> None:
    """``not not x`` in place of ``not x``."""
    node.operand = ast.UnaryOp(ast.Not(), node.operand)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            continue
        if isinstance(child, ast.AnnAssign):
            if child.value is not None:
                yield child.value
                yield from _code(child.value)
            continue
        if isinstance(child, ast.arg):
            continue
        yield child
        yield from _code(child)


def _of_texts(node: ast.BinOp | ast.AugAssign) -> bool:
    """Texts are joined by ``+``: there is no other way to, so that the change would only be an error."""
    parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return any(isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str) for part in parts)


def _name(operator: ast.AST) -> str:
    return type(operator).__name__


def _set(values: list[Any], place: int, value: Any) -> None:
    values[place] = value


def drawn(folders: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """So many of all places, the same for the same seed and sources."""
    paths = [path.relative_to(ROOT).as_posix() for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    every = [mutant for path in paths for mutant in mutants_of(path)]
    return random.Random(seed).sample(every, min(count, len(every)))


def survived(item: tuple[Mutant, tuple[str, ...]]) -> bool:
    """In a copy of the tree with the change, the tests pass."""
    mutant, tests = item
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        for path in COPIED:
            source = ROOT / path
            if source.is_dir():
                shutil.copytree(source, Path(folder) / path, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
            elif source.exists():
                shutil.copy(source, folder)
        (Path(folder) / mutant.path).write_text(mutated(mutant), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(
                command, cwd=folder, env={**os.environ, "PYTHONPATH": folder}, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.python_mutants")
    parser.add_argument("folders", nargs="*", help="of sources; all unless given")
    parser.add_argument("--count", type=int, default=30, help="mutants of each folder")
    parser.add_argument("--seed", type=int, default=0)
    add_arguments(parser)
    chosen = parser.parse_args(arguments)
    unknown = [folder for folder in chosen.folders if folder not in FOLDERS]
    if unknown:
        parser.error(f"folder {unknown[0]!r}: unknown; known are {', '.join(FOLDERS)}")
    folders = chosen.folders or [*FOLDERS]
    items = [(m, FOLDERS[folder]) for folder in folders for m in drawn([folder], chosen.count, chosen.seed)]
    survivors: list[str] = []
    found: dict[str, list[bool]] = {folder: [] for folder in folders}
    of = {"mutants": folders, "count": chosen.count, "seed": chosen.seed}
    with campaign(survived, items, how_of(chosen), of) as results:
        for (mutant, _), result in zip(items, results, strict=True):
            folder = next(folder for folder in folders if mutant.path.startswith(f"{folder}/"))
            alive = not isinstance(result, Lost) and bool(result)
            found[folder].append(not alive)
            if alive:
                survivors.append(f"- `{mutant.path}`, line {mutant.line}: {mutant.change}")
                print(survivors[-1], flush=True)
    for folder, killed in found.items():
        row = [folder, str(len(killed)), str(sum(killed)), f"{100 * sum(killed) / max(1, len(killed)):.0f} %"]
        print(" | ".join(row))
        put_row(TITLE, COLUMNS, row, 1, PAGE.with_name("trust.md"))
    put_text(TITLE, "Survivors:\n\n" + "\n".join(survivors or ["none"]), PAGE.with_name("trust.md"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
