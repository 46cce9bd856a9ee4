"""Feature maps in DRAM over the steps of a program: who wrote which bytes, and until which step they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from isa.instructions import Region
from isa.program import MachineStep, Program, TensorBuffer
from sim.functional.footprint import Space, footprint
from tilewright.profile.activity import MOVES, Activity
from tilewright.profile.dataflow import Dataflow
from tilewright.profile.parts import parsed

GRANULE = 64
"""The bytes that are looked at together. Every storage begins at a multiple of them."""
MAPS = (Region.WORK, Region.INPUT, Region.OUTPUT)
Granules = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Held:
    """The granules that hold what ``writer`` wrote, from one step to another, both included."""

    writer: str
    since: int
    until: int
    granules: Granules


@dataclass(frozen=True)
class Arena:
    """The feature maps of a program. Its regions lie one after the other, as in ``MAPS``."""

    steps: Sequence[str]
    """The names of the steps: groups in their order, and parts on the CPU."""
    sizes: Mapping[Region, int]
    held: Sequence[Held]

    @property
    def total(self) -> int:
        return sum(self.sizes.values())

    def in_use(self) -> list[int]:
        """The bytes of WORK in each step, of granules that hold something."""
        live = np.zeros((len(self.steps), -(-self.sizes[Region.WORK] // GRANULE)), np.bool_)
        for each in self.held:
            live[each.since : each.until + 1, each.granules[each.granules < live.shape[1]]] = True
        return [min(self.sizes[Region.WORK], GRANULE * int(count)) for count in live.sum(axis=1)]


def arena(program: Program, items: Sequence[Activity], flow: Dataflow) -> Arena:
    """The arena of a program, from what its instructions touch, and from what the CPU parts read and write."""
    sizes = {region: program.region_bytes(region) for region in MAPS}
    bases = {region: sum(sizes[other] for other in MAPS[:number]) for number, region in enumerate(MAPS)}
    steps: list[str] = []
    held = _Held(sum(sizes.values()))
    for name, accesses in _steps(program, items, flow, bases):
        for written, who, granules in accesses:
            if written:
                held.write(who, granules, len(steps))
            else:
                held.read(granules, len(steps))
        steps.append(name)
    if sizes[Region.OUTPUT]:
        held.read(np.arange(bases[Region.OUTPUT] // GRANULE, held.count), len(steps) - 1)
    return Arena(steps, sizes, held.all())


Access = tuple[bool, str, Granules]
"""An access: whether it is a write, by whom, and to which granules."""


def _steps(
    program: Program, items: Sequence[Activity], flow: Dataflow, bases: Mapping[Region, int]
) -> Iterator[tuple[str, list[Access]]]:
    buffers = {buffer.name: buffer for buffer in program.buffers}
    graphs = {graph.name: graph.model for graph in program.cpu_graphs}
    every = {**bases, Region.CONST: sum(program.region_bytes(region) for region in MAPS)}
    for step in program.run_order:
        if not isinstance(step, MachineStep):
            graph = parsed(step.graph, graphs[step.graph]).graph
            yield step.graph, [
                (written, step.graph, _of_buffer(buffers[value.name], bases))
                for written, values in ((False, graph.input), (True, graph.output)) for value in values if value.name in buffers
            ]  # fmt: skip
            continue
        moves = [i for i in items if step.first_word <= i.pc < step.first_word + step.words and i.unit in MOVES]
        by_group = sorted(moves, key=lambda item: (flow.group_of[flow.layer_of[item.number]], item.pc))
        for number, members in groupby(by_group, key=lambda item: flow.group_of[flow.layer_of[item.number]]):
            accesses = []
            for item in members:
                touched = footprint(item.op, program.config, every, item.pc)
                for written, runs in ((False, touched.reads.get(Space.DRAM)), (True, touched.writes.get(Space.DRAM))):
                    if runs is not None and runs[0, 0] < every[Region.CONST]:
                        accesses.append((written, flow.layer_of[item.number], _granules(runs)))
            yield f"group {number}", accesses


def _of_buffer(buffer: TensorBuffer, bases: Mapping[Region, int]) -> Granules:
    begin = bases[buffer.region] + buffer.offset
    return _granules(np.array([[begin, begin + buffer.nbytes]], np.int64))


def _granules(runs: Granules) -> Granules:
    first, past = runs[:, 0] // GRANULE, -(-runs[:, 1] // GRANULE)
    counts = past - first
    return np.unique(np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum()))


class _Held:
    """The contents of each granule as the program goes on. The host wrote what nobody else did, before the first step."""

    def __init__(self, size: int) -> None:
        self.count = -(-size // GRANULE)
        self._names = ["host"]
        self._writer = np.zeros(self.count, np.int64)
        self._since = np.zeros(self.count, np.int64)
        self._until = np.full(self.count, -1, np.int64)
        self._ended: list[tuple[Granules, Granules, Granules, Granules]] = []

    def read(self, granules: Granules, step: int) -> None:
        self._until[granules] = step

    def write(self, writer: str, granules: Granules, step: int) -> None:
        """Notes a write, which ends what another layer left there. One layer may write parts of a granule one after the
        other."""
        if writer not in self._names:
            self._names.append(writer)
        number = self._names.index(writer)
        new = granules[(self._writer[granules] != number) | (self._until[granules] >= 0) & (self._since[granules] < step)]
        self._end(new)
        self._writer[new], self._since[new] = number, step
        self._until[granules] = np.maximum(self._until[granules], step)
        self._until[new] = step

    def _end(self, granules: Granules) -> None:
        kept = granules[self._until[granules] >= self._since[granules]]
        self._ended.append((self._writer[kept], self._since[kept], self._until[kept], kept))

    def all(self) -> list[Held]:
        self._end(np.arange(self.count))
        writer, since, until, granules = (np.concatenate(column) for column in zip(*self._ended, strict=True))
        order = np.lexsort((granules, until, since, writer))
        keys = np.stack([writer, since, until])[:, order]
        cuts = np.flatnonzero((np.diff(keys) != 0).any(axis=0)) + 1
        parts = zip(np.split(keys, cuts, axis=1), np.split(granules[order], cuts), strict=True)
        return [Held(self._names[int(key[0, 0])], int(key[1, 0]), int(key[2, 0]), own) for key, own in parts if own.size]
