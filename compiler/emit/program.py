"""All groups of a graph as one program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from compiler.codegen.group import Homes, emit_plan
from compiler.codegen.parameters import ConstImage, Parameters, UnpackedImage, depths
from compiler.codegen.plan import Plan
from compiler.codegen.views import View
from compiler.memory.storage import Home, allocate, storage_of
from compiler.schedule.hazards import dependences, hazards
from compiler.schedule.instruction import Pending, Space
from compiler.schedule.order import start_order
from compiler.schedule.tokens import with_tokens
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.codec import Op as MachineOp
from isa.codec import encode
from isa.config import MachineConfig
from isa.debug import DebugRecord
from isa.instructions import Region

ALIGN = 64


@dataclass(frozen=True)
class Segment:
    """A stretch of the program between START and END."""

    first_word: int
    words: int


@dataclass(frozen=True, eq=False)
class Emitted:
    """Everything of a program file that comes from code generation."""

    words: tuple[int, ...]
    segments: tuple[Segment | Cpu, ...]
    """In the order of execution."""
    const: bytes
    work_bytes: int
    input_bytes: int
    output_bytes: int
    views: Mapping[str, View]
    """Where every map that leaves a group lies."""
    debug: tuple[DebugRecord, ...]


Scheduled = tuple[MachineOp, Pending]
"""An instruction with its tokens, and what it came from."""


def emit_program(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu]) -> Emitted:
    """``steps``: plans of groups and CPU parts, in the order of execution."""
    views, sizes = _views(graph, steps)
    const = ConstImage(max(ALIGN, config.axi_bytes))
    words: list[int] = []
    debug: list[DebugRecord] = []
    segments: list[Segment | Cpu] = []
    for part in _parts(config, graph, steps, const, views, sizes):
        if isinstance(part, Cpu):
            segments.append(part)
            continue
        first = len(words)
        words.extend(encode(MachineOp("START", {"config": config.hash})))
        for op, pending in part:
            debug.append(DebugRecord(len(words), pending.layer, pending.tile))
            words.extend(encode(op))
        words.extend(encode(MachineOp("END")))
        segments.append(Segment(first, len(words) - first))
    return Emitted(
        tuple(words), tuple(segments), const.image(), sizes[Region.WORK], sizes[Region.INPUT], sizes[Region.OUTPUT],
        views, tuple(debug),
    )  # fmt: skip


def machine_segments(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu]) -> list[list[MachineOp]]:
    """The instructions between each START and END, to be timed only: no parameters are packed for them."""
    views, sizes = _views(graph, steps)
    const = UnpackedImage(max(ALIGN, config.axi_bytes))
    parts = _parts(config, graph, steps, const, views, sizes)
    return [[op for op, _ in part] for part in parts if not isinstance(part, Cpu)]


def _parts(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], const: ConstImage,
    views: Mapping[str, View], sizes: Mapping[Region, int],
) -> Iterator[Cpu | list[Scheduled]]:  # fmt: skip
    """CPU parts, and the stretches of groups between them as scheduled instructions."""
    spaces = dict(depths(config)) | {
        Space.WORK: sizes[Region.WORK], Space.INPUT: sizes[Region.INPUT], Space.OUTPUT: sizes[Region.OUTPUT],
    }  # fmt: skip
    for on_cpu, stretch in groupby(steps, lambda step: isinstance(step, Cpu)):
        parameters = Parameters(config, const)
        program: list[Pending] = []
        for step in stretch:
            if isinstance(step, Cpu):
                yield step
            else:
                program += emit_plan(config, step, _homes(graph, step, views), parameters, _batch(step))
        if not on_cpu:
            yield _schedule(program, spaces)


def _schedule(program: Sequence[Pending], spaces: Mapping[Space, int]) -> list[Scheduled]:
    """Order and tokens."""
    found = hazards(program, spaces)
    order = start_order(program, [met.before for met in found])
    moved = [program[index] for index in order]
    return list(zip(with_tokens(moved, dependences(program, found, order)), moved, strict=True))


def _batch(plan: Plan) -> int:
    return plan.group.tensors[plan.group.outputs[0]].batch


def _homes(graph: XGraph, plan: Plan, views: Mapping[str, View]) -> Homes:
    return Homes({t: views[t] for t in plan.group.inputs}, {t: (views[t],) for t in plan.group.outputs})


def _views(graph: XGraph, steps: Sequence[Plan | Cpu]) -> tuple[dict[str, View], dict[Region, int]]:
    """Final places: network inputs and outputs in their own regions, everything else in WORK while it lives."""
    homes = storage_of(graph)
    life: dict[str, list[int]] = {}
    for time, step in enumerate(steps):
        touched = (*step.inputs, *step.outputs) if isinstance(step, Cpu) else (*step.group.inputs, *step.group.outputs)
        for name in touched:
            life.setdefault(homes[name].root, []).append(time)
    region = dict.fromkeys(life, Region.WORK)
    region |= {homes[name].root: Region.OUTPUT for name in graph.outputs if graph.tensors[name]}
    region |= {homes[name].root: Region.INPUT for name in graph.inputs}
    sizes: dict[Region, int] = {}
    offsets: dict[str, int] = {}
    for kind in (Region.WORK, Region.INPUT, Region.OUTPUT):
        roots = [name for name in region if region[name] is kind]
        always = (0, len(steps))
        spans = {name: (min(life[name]), max(life[name])) if kind is Region.WORK and name in life else always for name in roots}
        placed, sizes[kind] = allocate({name: graph.tensors[name].bytes for name in roots}, spans, ALIGN)
        offsets |= placed
    return {name: _final(home, graph, region, offsets) for name, home in homes.items() if home.root in offsets}, sizes


def _final(home: Home, graph: XGraph, region: Mapping[str, Region], offsets: Mapping[str, int]) -> View:
    kind = region[home.root]
    flip = kind is not Region.WORK and graph.tensors[home.root].flip
    return replace(home.view, region=kind, offset=home.view.offset + offsets[home.root], flip=flip)


