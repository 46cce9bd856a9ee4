"""The lifetimes of storages: which steps of a program need each. Both places and orders are found from this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.memory.storage import storage_of
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Constant

ALIGN = 64
"""Every storage begins at a multiple of this many bytes. It suits the bursts of DRAM and the granules of hazards."""


@dataclass(frozen=True)
class Step:
    """A group on the machine or a part on the host, with the maps in DRAM that it reads and writes."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    on_host: bool = False
    takes: tuple[str, ...] = ()
    """The tensors that it needs of other parts on the host, and of which the machine has no map."""
    gives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Storage:
    """The storage of one or several maps (parts of a concat, views).

    ``made`` and ``read``: the numbers of the steps that write and read it.
    """

    size: int
    """The bytes of the storage, a multiple of ``ALIGN``."""
    made: tuple[int, ...]
    read: tuple[int, ...]
    given: bool = False
    """Whether it is in use before the first step."""
    outlives: bool = False
    """Whether it is in use after the last step."""


@dataclass(frozen=True)
class Lives:
    """All storages by the name of their root, divided by region."""

    work: Mapping[str, Storage]
    input: Mapping[str, Storage]
    """The storages that the host provides. The machine reads them and never writes them."""
    output: Mapping[str, Storage]
    """The storages that the host takes. They stay until the next run."""

    @property
    def of_host(self) -> frozenset[str]:
        """The names of the storages that the machine shares with the host, in the host's representation."""
        return frozenset((*self.input, *self.output))

    def in_work(self) -> Lives:
        """The same storages, all in WORK: an input lives until its last reader, an output from its first maker."""
        given = {root: replace(each, given=True, outlives=not each.read) for root, each in self.input.items()}
        taken = {root: replace(each, outlives=True) for root, each in self.output.items()}
        return Lives({**self.work, **given, **taken}, {}, {})


def lives_of(graph: XGraph, steps: Sequence[Step]) -> Lives:
    """The lives of all storages but constants. ``steps`` need not be in an order in which they can run."""
    homes = storage_of(graph)
    made: dict[str, list[int]] = {}
    read: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        for table, names in ((made, step.writes), (read, step.reads)):
            for name in names:
                if not isinstance(graph.producer(homes[name].root), Constant):
                    table.setdefault(homes[name].root, []).append(number)
    roots = dict.fromkeys([*made, *read])
    before, after = _only_host(steps, made, read, roots)
    provided = {homes[name].root for name in graph.inputs}
    provided |= {root for root in roots if made.get(root) and all(number in before for number in made[root])}
    taken = {homes[name].root for name in graph.outputs}
    taken |= {root for root in roots if any(number in after for number in read.get(root, ()))}
    taken -= provided
    storages = {
        root: Storage(aligned(graph.tensors[root].bytes), tuple(made.get(root, ())), tuple(read.get(root, ())))
        for root in (*roots, *((provided | taken) - roots.keys()))
    }  # fmt: skip
    return Lives(
        {root: storage for root, storage in storages.items() if root not in provided | taken},
        {root: storages[root] for root in storages if root in provided},
        {root: storages[root] for root in storages if root in taken},
    )


def aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def _only_host(
    steps: Sequence[Step], made: Mapping[str, Sequence[int]], read: Mapping[str, Sequence[int]], roots: Mapping[str, None]
) -> tuple[set[int], set[int]]:
    """The host's steps that need nothing of the machine, and the host's steps of which the machine needs nothing."""
    hosts = {number for number, step in enumerate(steps) if step.on_host}
    givers: dict[int, set[int]] = {number: set() for number in range(len(steps))}
    takers: dict[int, set[int]] = {number: set() for number in range(len(steps))}
    links = [(maker, reader) for root in roots for maker in made.get(root, ()) for reader in read.get(root, ())]
    source = {name: number for number, step in enumerate(steps) for name in step.gives}
    links += [(source[name], number) for number, step in enumerate(steps) for name in step.takes if name in source]
    for maker, reader in links:
        if maker != reader:
            givers[reader].add(maker)
            takers[maker].add(reader)
    return _closed(hosts, givers), _closed(hosts, takers)


def _closed(hosts: set[int], needed: Mapping[int, set[int]]) -> set[int]:
    """The largest set of the host's steps whose needs are all in the set."""
    left = set(hosts)
    while True:
        leaving = {number for number in left if not needed[number] <= left}
        if not leaving:
            return left
        left -= leaving
