"""The plan of a group: passes over its channels, steps, rings, the parameters that stay on chip, and all places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from compiler.layers.placed import Placed, Rows
from compiler.planning.objective import Cost, Objective
from compiler.planning.operations import Group
from compiler.planning.ranges import Ranges
from compiler.planning.residence import Residence
from compiler.planning.sequence import Turn, sequence, slots
from compiler.planning.tenancy import tenancies
from compiler.planning.walk import Way
from compiler.schedule.document import FREE, GroupSchedule
from isa.config import MachineConfig


@dataclass(frozen=True, eq=False)
class Pass:
    """A pass: the group once over its rows, with all channels or some."""

    group: Group
    ranges: Ranges
    skew: Mapping[str, int]
    """Steps by which each layer (by output), each load and each save (``load x``, ``save x``) runs behind."""
    placed: Mapping[str, Placed]
    residence: Residence
    loads: Sequence[str]
    """The inputs that the pass loads: all but those that an earlier pass left on chip."""
    in_turn: bool = False
    """Whether maps are loaded and saved in turn with the layers (see ``sequence``)."""

    def order(self) -> Iterator[tuple[Turn, int, Rows]]:
        """The turns for one image in the order of the program, each with its step and its rows."""
        turns = [(turn, self.skew[turn.key]) for turn in sequence(self.group, self.loads, self.in_turn)]
        for slot in slots(turns, self.ranges.steps):
            for turn, step in slot:
                rows = Rows(*self.ranges.made(turn.map, step))
                if rows:
                    yield turn, step, rows


class Run(NamedTuple):
    """A pass over some images, one after the other. Parameters that stay are loaded once for all of them."""

    number: int
    part: Pass
    images: range


@dataclass(frozen=True, eq=False)
class Plan:
    """One way to execute a group."""

    group: Group
    count: int
    """The number of passes. Each column tile of a pass counts as one."""
    tiles: int
    """The column tiles in each pass over channels."""
    widest: Group
    """The group of a pass such that a way that suits it suits every pass."""
    way: Way
    """The way of all passes."""
    upwards: bool
    """Whether maps are placed from the bottom of the buffer, else from the top."""
    held: Sequence[str]
    """The maps that stay on chip from pass to pass."""
    cost: Cost
    reloaded: int
    """The bytes of parameters that are loaded again, for the whole batch."""
    make: Callable[[int], Pass]
    objective: Objective
    """The objective by which it is the best plan."""
    wanted: GroupSchedule = FREE
    """The decisions that were made before planning."""
    bands: int = 1
    """Bands of rows, finished one after the other. With more than one, the way and the widest part are those of the first
    band."""
    cores: Sequence[int] = ()
    """The core that executes each pass, where several share the group (``shards.py``); empty: one core executes all. The way
    and the widest part are then those of the first shard."""

    @property
    def steps(self) -> int:
        """The steps of each pass."""
        return self.way.ranges.steps

    @property
    def over_channels(self) -> int:
        """The passes over channels. Each is computed in all bands and column tiles."""
        return 1 if self.bands > 1 or self.cores else self.count // self.tiles

    @property
    def shape(self) -> str:
        """A text for people: passes, column tiles or bands, and steps."""
        if self.cores:
            return f"{1 + max(self.cores)} shards on as many cores"
        parts = f"{self.bands} bands of rows, {self.count} tiles of " if self.bands > 1 else ""
        parts += f"{self.over_channels} passes of " if self.over_channels > 1 else ""
        parts += f"{self.tiles} column tiles of " if self.tiles > 1 and self.bands == 1 else ""
        return f"{parts}{self.steps} step{'s' if self.steps > 1 else ''}"

    @property
    def pipelined(self) -> bool:
        return any(self.way.skew.values())

    def rings(self, config: MachineConfig) -> dict[str, Placed]:
        """The rings, each by the first of the maps that share it."""
        firsts = (tenancy.planes[0][0] for tenancy in tenancies(config, self.widest))
        return {name: self.way.placed[name] for name in firsts}

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """The passes in the order of execution. They are made when they are first asked for, which weighing plans does not."""
        return tuple(self.make(number) for number in range(self.count))

    @property
    def batch(self) -> int:
        return self.group.tensors[self.group.outputs[0]].batch

    @property
    def runs(self) -> Iterator[Run]:
        """The order in which the plan is executed: each pass over all images, or, where maps stay on chip from pass to pass,
        all passes of an image before the next image."""
        every = range(self.batch)
        for images in [range(n, n + 1) for n in every] if self.held else [every]:
            for number, part in enumerate(self.passes):
                yield Run(number, part, images)

    def runs_of(self, core: int) -> Iterator[Run]:
        """The runs that one core executes."""
        return (run for run in self.runs if not self.cores or self.cores[run.number] == core)

    @property
    def turns(self) -> int:
        """The loads, saves and layers of all steps. A layer counts once for each of its blocks of parameters.

        The number of instructions grows with the turns, and so does the time to emit and time them.
        """
        return self.batch * sum(
            each.ranges.steps * (len(each.loads) + len(each.group.outputs) + sum(map(len, each.residence.blocks.values())))
            for each in self.passes
        )

    @property
    def parameter_bytes(self) -> int:
        """The bytes of all parameters, each counted once."""
        parts = [each.residence for each in self.passes]
        return sum(sum(part.stay_bytes.values()) + sum(part.streamed_bytes.values()) for part in parts)

    @property
    def words(self) -> int:
        """One past the last feature-map word that is used."""
        return max(placed.base + placed.words for each in self.passes for placed in each.placed.values())
