"""The page of refusals, made from the code: every error that a user can meet is built somewhere, and its text is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from compiler.frontend.documented import CONFIGURATION, NEIGHBOURS, UNKNOWN
from isa.documented import documented
from isa.faults import Fault

ROOT = Path(__file__).parents[2]
PACKAGES = ("isa", "hw", "compiler", "sim", "driver", "tilewright")
BASE = "TilewrightError"
TEXT_OF = {"FitError": "{0}: {1}; {2}", "Refusal": "{0}"}
"""Errors that put their text together from several parts."""

AREAS = {
    "isa": "Configurations, instructions and program files",
    "hw": "Verilog",
    "compiler": "Models and compilation",
    "sim": "Simulators, boards and campaigns",
    "driver": "The driver",
    "tilewright": "Files and options of commands",
}
REMEDIES = {
    "AssembleError": "correct the line of the program text",
    "BoardError": "follow docs/guides/board.md from the start: device tree, address, clock, reset",
    "CalibrationError": "make the calibration data again, as the sentence asks",
    "CampaignError": "run the line that the sentence ends with",
    "CapabilityError": "for who adds a capability: give it bits of its own in isa/capabilities.py",
    "ConfigError": "choose what the sentence names; docs/reference/configuration.md has every field",
    "CycleError": "make the program again",
    "DebugError": "make or copy the program file again",
    "ElfError": "make or copy the program file again",
    "EmitError": "choose another configuration, or leave the option out",
    "EncodeError": "for who writes instructions: choose a value within",
    "GraphError": "in a graph text: correct what the sentence names; from a model: report it, it is a mistake of the compiler",
    "HostError": "give arrays of the types and shapes that `tilewright disasm` lists",
    "InputError": "give another path, or make the folder writable",
    "MachineFault": "see the table of faults",
    "MemoryLimitError": "give a size as the sentence shows",
    "MissingToolError": "run the line that the sentence ends with",
    "ModelError": "export the model again",
    "ProgramError": "compile or assemble the program again",
    "ProofError": "look at the part by itself: `tilewright prove NAME`; a solver that is slow has more time on an idle machine",
    "RtlTimeout": "see where the units wait with `tilewright trace --engine rtl`",
    "RuntimeRefusal": "run the model in onnxruntime alone, and export it again",
    "ScheduleError": "correct the line of the schedule, or write it again with `tilewright compile --save-schedule FILE`",
    "SimulatorError": "run it once more with the same seed; if it stays, the machine or its bench is wrong: report it",
    "SynthesisError": "look into the log of the tool; for a cell that is unknown, add it to the file that is named",
    "TableError": "for who changes the instruction set: correct the row in isa/instructions.py",
    "TilewrightError": "give one of what the sentence expects",
}
"""What to do where the sentence itself says what is expected and no more."""
OF_FAULTS = {
    "NONE": "nothing is wrong",
    "ILLEGAL_OPCODE": "compile for this configuration: it may lack POOL, MISC or ROW",
    "ILLEGAL_FIELD": "compile again; a program of one's own: `tilewright asm` names the field",
    "CONFIG_MISMATCH": "compile for the configuration that is loaded; register CONFIG and the program's START tell both",
    "FM_ADDRESS": "compile again; for a program of one's own, docs/reference/isa.md says which words an instruction touches",
    "BUFFER_ADDRESS": "the same for weights, parameters, taps, tables and accumulators",
    "READ_ERROR": "check the base registers and what the interconnect maps there",
    "WRITE_ERROR": "check the base registers and what the interconnect lets the machine write",
    "FETCH_ERROR": "check the address of the program",
    "WATCHDOG": "check the tokens of a program of one's own; raise WATCHDOG where DRAM is very slow",
    "PROGRAM_END": "load the whole program, and give its length in words",
    "BUS_TIMEOUT": "check clock, reset and address of DRAM; raise BUS_WATCHDOG where it is very slow",
    "ABORTED": "nothing is wrong: start again when the machine is idle",
    "MISALIGNED": "align program and bases to the AXI beat; the driver and `tilewright run` do",
    "REGION_LIMIT": "give the region as many bytes as the program file says; bases and limits belong together",
}

HEAD = """# Refusals and faults

Every way in which Tilewright says no, made from the code (`tests/docs/refusals.py`) and held against it by a test: what it
is about, what is wrong (the value, and what was expected), and what helps. What stands between braces varies, and is called
as the code calls it. A command prints the sentence in one line and ends with exit code 2; nothing that it was to write is
there then. A Python package or a program that is not installed is named with the line that installs it.

## Faults of the machine

The machine stops, raises its interrupt, and has the number in ERROR_CODE, the instruction's word in ERROR_PC.

| number | fault | what has happened | remedy |
|---:|---|---|---|
{faults}

## Reasons for the CPU

No refusal: the node runs in onnxruntime, inside the same program. `tilewright compile --verbose` names the reason of each,
which is a condition of `tilewright ops` that is not satisfied, or one of these.

| reason | remedy |
|---|---|
{reasons}
"""


@dataclass(frozen=True)
class Refusal:
    """``text``: what varies is between braces, as the code calls it."""

    path: str
    error: str
    text: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """What it is about, what is wrong with that (value, and what was expected), and the remedy."""
        start, found, remedy = self.text.rpartition("; ")
        if not found:
            start, remedy = self.text, ""
        thing, found, wrong = start.partition(": ")
        remedy = remedy or REMEDIES.get(self.error, "")
        return (thing, wrong, remedy) if found else ("", start, remedy)


def page() -> str:
    """docs/reference/refusals.md."""
    rows = [
        f"| {value} | {name} | {text} | {OF_FAULTS[name]} |" for name, value, text in documented(Fault)
    ]  # fmt: skip
    reasons = [
        f"| {UNKNOWN}... | leave it so, or write it with operators of `tilewright ops` |",
        *(f"| {reason} | {remedy} |" for reason, remedy in NEIGHBOURS.items()),
        *(f"| {_plain(pattern)}... | {remedy} |" for pattern, remedy in CONFIGURATION.items()),
    ]
    lines = [HEAD.format(faults="\n".join(rows), reasons="\n".join(reasons)).rstrip()]
    for package, title in AREAS.items():
        cells = {(each.error, *each.parts) for each in refusals() if each.path.startswith(f"{package}/")}
        if cells:
            lines += ["", f"## {title}", "", "| error | thing | wrong, and expected | remedy |", "|---|---|---|---|"]
            lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in sorted(cells)]
    return "\n".join(lines) + "\n"


def _plain(pattern: str) -> str:
    """A pattern as people write it."""
    return pattern.replace(r"\S+", "NAME").replace(r"\d+", "N").replace("(POOL|MISC)", "POOL or MISC")


@cache
def sources() -> dict[str, ast.Module]:
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def error_classes(trees: dict[str, ast.Module]) -> set[str]:
    """Names of the classes below ``TilewrightError``."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {BASE}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


@cache
def refusals() -> tuple[Refusal, ...]:
    """Every place where one of these errors is made, in the order of the code."""
    return tuple(_refusals(sources()))


def _refusals(trees: dict[str, ast.Module]) -> Iterator[Refusal]:
    errors = error_classes(trees)
    for path, tree in trees.items():
        for scope in _scopes(tree):
            for node in _calls(scope):
                name = node.func.id if isinstance(node.func, ast.Name) else ""
                if name in errors:
                    yield Refusal(path, name, _text(name, node, _assigned(scope)))


def _scopes(tree: ast.Module) -> list[ast.AST]:
    """Functions, each by itself; what is outside of them."""
    return [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]


def _calls(scope: ast.AST) -> Iterator[ast.Call]:
    """In this scope, not in the functions within it."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.Call):
            yield child
        if not isinstance(child, ast.FunctionDef):
            yield from _calls(child)


def _assigned(scope: ast.AST) -> dict[str, ast.expr]:
    """What names stand for that are given a text once."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _text(error: str, call: ast.Call, known: dict[str, ast.expr]) -> str:
    parts = [_rendered(argument, known) for argument in call.args]
    pattern = TEXT_OF.get(error, "{0}")
    return " ".join((pattern.format(*parts) if len(parts) > pattern.count("{") - 1 else " ".join(parts)).split())


def _rendered(node: ast.expr, known: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_rendered(part, known) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _rendered(node.left, known) + _rendered(node.right, known)
    if isinstance(node, ast.FormattedValue):
        node = node.value
    if isinstance(node, ast.Name) and isinstance(known.get(node.id), ast.JoinedStr | ast.Constant):
        return _rendered(known[node.id], {})
    return "{" + ast.unparse(node).replace("|", "or").replace("{", "(").replace("}", ")") + "}"
