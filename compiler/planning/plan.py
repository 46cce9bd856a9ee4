"""How a group is executed: passes over its channels, steps, rings, which parameters stay on chip, and where everything lies."""

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
    """Once over the rows, of all channels or of some."""

    group: Group
    ranges: Ranges
    skew: Mapping[str, int]
    """Steps by which each layer (by output), each load and each save (``load x``, ``save x``) runs behind."""
    placed: Mapping[str, Placed]
    residence: Residence
    loads: Sequence[str]
    """Inputs, but for those that an earlier pass left on chip."""
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
    """A pass over some images, one after the other; parameters that stay are loaded once for all of them."""

    number: int
    part: Pass
    images: range


@dataclass(frozen=True, eq=False)
class Plan:
    """One way to execute a group."""

    group: Group
    count: int
    """Passes, each column tile of one counted."""
    tiles: int
    """Column tiles in each pass over channels."""
    widest: Group
    """What suits it suits the group of every pass."""
    way: Way
    """The way of all passes."""
    upwards: bool
    """Whether maps are placed from the bottom of the buffer, else from the top."""
    held: Sequence[str]
    """Maps that stay on chip from pass to pass."""
    cost: Cost
    reloaded: int
    """Bytes of parameters that were on chip before, of the whole batch."""
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
        """Steps of each pass."""
        return self.way.ranges.steps

    @property
    def over_channels(self) -> int:
        """Passes over channels; each is computed in all bands and column tiles."""
        return 1 if self.bands > 1 or self.cores else self.count // self.tiles

    @property
    def shape(self) -> str:
        """For people: passes, column tiles or bands, and steps."""
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
        """In the order of execution; plans that are only weighed against others never ask."""
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
        """What one core executes of it."""
        return (run for run in self.runs if not self.cores or self.cores[run.number] == core)

    @property
    def turns(self) -> int:
        """Loads, saves and layers of each step, layers as often as they have blocks of parameters: its instructions in number
        grow with them, and the time that it takes to emit and to time them."""
        return self.batch * sum(
            each.ranges.steps * (len(each.loads) + len(each.group.outputs) + sum(map(len, each.residence.blocks.values())))
            for each in self.passes
        )

    @property
    def parameter_bytes(self) -> int:
        """Each parameter once."""
        parts = [each.residence for each in self.passes]
        return sum(sum(part.stay_bytes.values()) + sum(part.streamed_bytes.values()) for part in parts)

    @property
    def words(self) -> int:
        """One past the last feature-map word used."""
        return max(placed.base + placed.words for each in self.passes for placed in each.placed.values())
