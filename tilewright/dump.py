"""The results of each stage of a compilation as text: the graph after each pass, groups with their plans, instructions by
layer.

``compiler.xgraph.stored.read_graph`` reads a graph back. The constants of all graphs lie in one file beside them.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.driver import Compiled
from compiler.planning.plan import Pass, Plan
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from compiler.xgraph.printer import Constant, print_graph
from compiler.xgraph.stored import CONSTANTS, constants_file
from isa.codec import Op
from isa.disassembler import format_statement, statements
from isa.program import Program


class Dump:
    """Watches a compilation, and writes its stages as text."""

    FILES = ("groups.txt", "instructions.s")
    """The files beside the graphs."""

    def __init__(self) -> None:
        self._graphs: list[tuple[str, str]] = []
        self._constants: dict[str, Constant] = {}

    def graph(self, stage: str, graph: XGraph) -> None:
        """Notes a graph; the function is for ``watch`` of ``compile_model``."""
        printed = print_graph(graph)
        self._graphs.append((f"{len(self._graphs):02d}_{stage}.xgraph", printed.text))
        self._constants |= printed.constants

    def files(self, compiled: Compiled) -> Iterator[tuple[str, bytes]]:
        """The names and contents of the files. ``fitted`` is the graph that was compiled, if more went to the CPU after the
        last pass."""
        if print_graph(compiled.imported.graph).text != self._graphs[-1][1]:
            self.graph("fitted", compiled.imported.graph)
        for name, text in self._graphs:
            yield name, text.encode()
        yield CONSTANTS, constants_file(self._constants)
        groups = (_group(step) if isinstance(step, Plan) else _cpu(step) for step in compiled.steps)
        yield self.FILES[0], ("\n".join(line for lines in groups for line in lines) + "\n").encode()
        yield self.FILES[1], "".join(f"{line}\n" for line in _instructions(compiled.program)).encode()


def _cpu(part: Cpu) -> Iterator[str]:
    yield f"CPU part {part.name}"
    yield from (f"  {node}: {reason}" for node, reason in part.reasons.items())


def _group(plan: Plan) -> Iterator[str]:
    cost = f"about {plan.cost.cycles} cycles, {plan.cost.dram_bytes} bytes"
    yield f"group {plan.group.name}: {plan.count} passes of {plan.steps} steps, {cost}"
    if plan.held:
        yield f"  on chip from pass to pass: {', '.join(plan.held)}"
    for number, each in enumerate(plan.passes):
        if plan.count > 1:
            yield f"  pass {number}"
        yield from (f"    {line}" for line in _pass(each))


def _pass(plan: Pass) -> Iterator[str]:
    group, stays = plan.group, plan.residence
    for name in plan.loads:
        yield f"load {name}, {plan.skew[f'load {name}']} steps behind"
    for layer in group.layers:
        blocks, stay = len(stays.blocks[layer.output]), stays.stay[layer.output]
        parameters = f"parameters in {blocks} blocks, {stay} of them loaded once" if blocks else "no parameters"
        yield f"{layer.unit.name} {layer.op.name}, {plan.skew[layer.output]} steps behind: {parameters}"
    for name in group.outputs:
        yield f"save {name}, {plan.skew[f'save {name}']} steps behind"
    for name, placed in plan.placed.items():
        rows = f"{placed.ring} of {placed.height} rows" if placed.wraps else f"all {placed.height} rows"
        shifted = f", row 0 at row {placed.shift}" if placed.shift else ""
        where = f"words {placed.base}..{placed.base + placed.words - 1}"
        yield f"map {name}: {where}: {placed.planes} planes of {rows}, {placed.pitch} words each{shifted}"


def _instructions(program: Program) -> Iterator[str]:
    """The instructions in the order of the program's layers, and of words within a layer. START and END belong to no layer."""
    layers: dict[str, list[str]] = {}
    for pc, content in statements(program.words):
        of_layer = isinstance(content, Op) and content.row.unit is not None
        origin = program.origin(pc) if of_layer else None
        tile = "" if origin is None or origin.tile is None else f" tile {origin.tile}"
        lines = layers.setdefault(origin.layer if origin else "", [])
        lines.append(f"{format_statement(content)}  ; {pc:#06x}{tile}")
    for layer, lines in layers.items():
        yield f"; layer {layer}" if layer else "; program"
        yield from lines
