"""Emits all groups of a graph as one program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from compiler.emit.group import emit_plan
from compiler.emit.parameters import ConstImage, Parameters, UnpackedImage, depths
from compiler.emit.places import APART, Sharing, constants, places
from compiler.instructions.native.engine import scheduled
from compiler.instructions.pending import Pending, Space
from compiler.instructions.tokens import with_tokens
from compiler.layers.views import View
from compiler.memory.lifetimes import ALIGN
from compiler.planning.homes import Homes
from compiler.planning.plan import Plan
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.codec import Op as MachineOp
from isa.codec import encode
from isa.config import MachineConfig
from isa.debug import DebugRecord
from isa.instructions import Region


@dataclass(frozen=True)
class Segment:
    """A stretch of the program between START and END."""

    first_word: int
    words: int
    core: int = 0
    """The core that executes it."""


@dataclass(frozen=True, eq=False)
class Emitted:
    """The parts of a program file that come from code generation."""

    words: tuple[int, ...]
    segments: tuple[Segment | Cpu, ...]
    """The segments and CPU parts in the order of execution."""
    const: bytes
    work_bytes: int
    input_bytes: int
    output_bytes: int
    views: Mapping[str, View]
    """The place of every map that leaves a group."""
    debug: tuple[DebugRecord, ...]


Scheduled = tuple[MachineOp, Pending]
"""An instruction with its tokens, and the pending instruction that it is made of."""


class Pendings(NamedTuple):
    """The instructions of groups that run one after the other on one core, before they are put in order."""

    program: list[Pending]
    spaces: Mapping[Space, int]
    """The words or bytes of each memory."""
    core: int


class Listed(NamedTuple):
    """The instructions between START and END."""

    instructions: list[Scheduled]
    cycles: int
    """The cycles as list scheduling estimates them."""
    core: int


@dataclass(frozen=True, eq=False)
class Listing:
    """A program before its parameters are packed. They have places that ``const`` reserved."""

    parts: tuple[Cpu | Listed, ...]
    """CPU parts and, between them, the instructions between START and END."""
    const: UnpackedImage
    views: Mapping[str, View]
    sizes: Mapping[Region, int]

    @property
    def cycles(self) -> int:
        """The cycles of all segments, as list scheduling estimates them. In it, units never wait for a bank or for DRAM."""
        return sum(part.cycles for part in self.parts if isinstance(part, Listed))


def emit_program(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART) -> Emitted:
    """Emits a program. ``steps``: plans of groups and CPU parts, in the order of execution."""
    listing = _listing(config, graph, tuple(steps), sharing)
    views, sizes = listing.views, listing.sizes
    const = ConstImage(listing.const.align)
    moved = listing.const.packed_into(const)
    words: list[int] = []
    debug: list[DebugRecord] = []
    segments: list[Segment | Cpu] = []
    for part in listing.parts:
        if isinstance(part, Cpu):
            segments.append(part)
            continue
        first = len(words)
        words.extend(encode(MachineOp("START", {"config": config.hash})))
        for op, pending in part.instructions:
            debug.append(DebugRecord(len(words), pending.layer, pending.tile))
            words.extend(encode(_moved(op, moved) if op.name == "LOADP" else op))
        words.extend(encode(MachineOp("END")))
        segments.append(Segment(first, len(words) - first, part.core))
    return Emitted(
        tuple(words), tuple(segments), const.image(), sizes[Region.WORK], sizes[Region.INPUT], sizes[Region.OUTPUT],
        views, tuple(debug),
    )  # fmt: skip


def machine_segments(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART
) -> list[list[Scheduled]]:
    """The instructions between each START and END. They are only for timing: their parameters are not packed."""
    parts = _listing(config, graph, tuple(steps), sharing).parts
    return [part.instructions for part in parts if isinstance(part, Listed)]


def listed_cycles(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART) -> int:
    """The cycles of a program as list scheduling estimates them. They compare orders of groups without the cycle model."""
    return _listing(config, graph, tuple(steps), sharing).cycles


def forget_listings() -> None:
    """Frees the kept listings, when nothing will be timed or emitted for a while."""
    _listing.cache_clear()


@lru_cache(maxsize=4)
def _listing(config: MachineConfig, graph: XGraph, steps: tuple[Plan | Cpu, ...], sharing: Sharing) -> Listing:
    """The listing of a program. The last ones are kept, for the program that is emitted is often one that was timed."""
    views, sizes = places(graph, steps, sharing)
    const = _image(config, graph)
    found = _parts(config, graph, steps, const, views, sizes)
    parts = tuple(part if isinstance(part, Cpu) else _schedule(*part) for part in found)
    return Listing(parts, const, views, sizes)


def pending_segments(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu]) -> list[Pendings]:
    """The instructions that ``machine_segments`` puts in order, in the order in which they are emitted."""
    views, sizes = places(graph, steps, APART)
    parts = _parts(config, graph, steps, _image(config, graph), views, sizes)
    return [part for part in parts if not isinstance(part, Cpu)]


def _image(config: MachineConfig, graph: XGraph) -> UnpackedImage:
    """The image for CONST. It begins with the maps that ``places`` puts there."""
    image = UnpackedImage(config)
    maps = [op.values.tobytes() for op in constants(graph)]
    if maps:
        image.place(np.frombuffer(b"".join(each + bytes(-len(each) % ALIGN) for each in maps), np.uint8))
    return image


def _moved(op: MachineOp, moved: Callable[[int], int]) -> MachineOp:
    """A load of parameters that lie at another offset: ``moved`` tells which."""
    return MachineOp(op.name, {**op.values, "offset": moved(op["offset"])}, op.wait, op.signal)


def _parts(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], const: ConstImage,
    views: Mapping[str, View], sizes: Mapping[Region, int],
) -> Iterator[Cpu | Pendings]:  # fmt: skip
    """Yields CPU parts, and the stretches of groups between them: a stretch for each core, if cores share the group."""
    spaces = dict(depths(config)) | {
        Space.WORK: sizes[Region.WORK], Space.INPUT: sizes[Region.INPUT], Space.OUTPUT: sizes[Region.OUTPUT],
    }  # fmt: skip
    for stretch in _stretches(steps):
        if isinstance(stretch, Cpu):
            yield stretch
            continue
        for core in sorted({0, *stretch[0].cores}):
            parameters = Parameters(config, const)
            program: list[Pending] = []
            for plan in stretch:
                program += emit_plan(config, plan, _homes(graph, plan, views), parameters, core)
            yield Pendings(program, spaces, core)


def _stretches(steps: Sequence[Plan | Cpu]) -> Iterator[Cpu | list[Plan]]:
    """Yields CPU parts, each group that several cores share, and the lists of other groups between these."""
    together: list[Plan] = []
    for step in steps:
        if isinstance(step, Plan) and not step.cores:
            together.append(step)
            continue
        if together:
            yield together
            together = []
        yield [step] if isinstance(step, Plan) else step
    if together:
        yield together


def _schedule(program: Sequence[Pending], spaces: Mapping[Space, int], core: int) -> Listed:
    """Puts instructions in order and gives them tokens."""
    found = scheduled(program, spaces)
    moved = [program[index] for index in found.places]
    return Listed([*zip(with_tokens(moved, found.waits, found.signals), moved, strict=True)], found.cycles, core)


def _homes(graph: XGraph, plan: Plan, views: Mapping[str, View]) -> Homes:
    group = plan.group
    return Homes(
        {t: views[t] for t in group.inputs}, {t: (views[t],) for t in group.outputs}, {t: views[t] for t in group.stored}
    )
