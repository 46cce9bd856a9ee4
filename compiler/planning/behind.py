"""What a group takes behind another: plans walked one after the other, each from the state that those before it leave.

A group alone waits for its first load and ends with its last save. In a program it also loads under the group before it,
waits for what that one saves, and for words of the buffers that are still in use. So the walk (``walk.py``) goes on from
group to group. It keeps when each unit is free, when each word of the feature-map buffer was used last, how many weights are
in use and until when, and when which rows of each map were saved.

What it does not see is units that meet in a bank: that only the cycle model tells. Where few do, whole programs are told
within 3 % (GoogLeNet and ResNet-50 on ``base``, ``zu2`` and ``zu9``), those of a few small groups within 8 %.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.layers.placed import Placed
from compiler.planning.onward import Onward
from compiler.planning.plan import Pass, Plan
from compiler.planning.ranges import Ranges
from compiler.planning.recurrence import Task
from compiler.planning.sequence import sequence
from compiler.planning.tenancy import Life, tenancies
from compiler.planning.walk import Way, tasks_of, waiting_weights
from compiler.schedule.latency import AFTER
from isa.config import MachineConfig
from isa.instructions import Unit

Kin = Mapping[str, Sequence[str]]
"""Of each map: those with which it shares bytes in DRAM (``memory/storage.py``)."""
Times = NDArray[np.float64]


def cycles_behind(config: MachineConfig, first: Plan | None, second: Plan, kin: Kin | None = None) -> int:
    """By how much later the second is done than the first; None: the machine rests before.

    Without ``kin`` a map shares bytes with itself alone.
    """
    row = Row(config, kin or {})
    before = row.add(first) if first else 0
    return row.add(second) - before


class _Saved(NamedTuple):
    """Rows of a map in DRAM: of each step, how many there are in all, and when the first and the last of them came."""

    height: int
    ends: Sequence[int]
    first: list[float]
    last: list[float]

    def when(self, rows: int) -> float:
        """So many are there; between the first and the last of a step they come evenly."""
        step = min(bisect_left(self.ends, rows), len(self.ends) - 1)
        before = self.ends[step - 1] if step else 0
        count = self.ends[step] - before
        if count < 2 or rows >= self.ends[step]:
            return self.last[step]
        return self.first[step] + (self.last[step] - self.first[step]) * max(0, rows - before - 1) / (count - 1)


class Row:
    """Groups one after the other on one machine."""

    def __init__(self, config: MachineConfig, kin: Kin) -> None:
        self.config, self.kin = config, kin
        self.end = 0.0
        """All groups so far are done."""
        self._before = 0.0
        """All groups but the last are done."""
        self._walker = Onward()
        self._used: Times = np.zeros(config.fm_words)
        """When each word of the feature-map buffer was used last."""
        self._saved: dict[str, _Saved] = {}
        self._weights: list[tuple[float, float]] = []
        """That the group before loaded: until when they are in use, and how many, in cycles of loading."""
        self._depth = config.weight_depth * config.buffer_dram_bytes("WEIGHT") / config.axi_bytes

    def copy(self) -> Row:
        """To go on from the same state in several ways."""
        other = Row.__new__(Row)
        other.__dict__.update(self.__dict__)
        other._walker = self._walker.copy()
        other._used = self._used.copy()
        other._saved = {**self._saved}
        return other

    def add(self, plan: Plan) -> int:
        """When it is done, and all before it."""
        batch = plan.group.tensors[plan.group.outputs[0]].batch
        # Maps that stay on chip from pass to pass make all passes of an image come before the next image.
        for images in [1] * batch if plan.held else [batch]:
            for part in plan.passes:
                self._walk(part, images)
        return round(self.end)

    def _walk(self, part: Pass, images: int) -> None:
        config, group, ranges = self.config, part.group, part.ranges
        way = Way(ranges, part.skew, part.placed, part.in_turn)
        tasks = tasks_of(config, group, way, part.residence, part.loads)
        keys = [turn.key for turn in sequence(group, part.loads, part.in_turn)]
        by_key = dict(zip(keys, tasks, strict=True))
        _lead(tasks)
        walker = self._walker
        walker.go_on(waiting_weights(config, part.residence), self._before)
        self._before = self.end
        self._wait_for_words(part, by_key)
        for name in part.loads:
            self._wait_for_saves(name, group.tensors[name].height, ranges, by_key[f"load {name}"])
        for image in range(images):
            if image:
                for task in tasks:
                    task.begin_again()
            for slot in range(ranges.steps + max(part.skew.values())):
                for task in tasks:
                    step = slot - task.behind
                    if 0 <= step < ranges.steps:
                        layer = task.leads if task.leads and step == 0 else task
                        if self._weights and (layer.stay or layer.streamed):
                            self._wait_for_weights(layer)
                        walker.step(task, step)
        self.end = max([self.end, *(task.last[-1] for task in tasks)])
        self._leave(part, by_key)

    def _wait_for_words(self, part: Pass, tasks: Mapping[str, Task]) -> None:
        """What is written first into each row of a ring waits for whoever used its words last."""
        for tenancy in tenancies(self.config, part.group):
            placed = part.placed[tenancy.planes[0][0]]
            rows = self._rows(placed).max(axis=(0, 2))
            if rows.max() <= 0.0:
                continue
            rows = np.maximum.accumulate(np.roll(rows, -placed.shift))
            for life in tenancy.lives:
                task = tasks.get(life.maker)
                if task is None:
                    continue
                ends = part.ranges.end[life.first]
                begins = np.concatenate([[0], ends[:-1]])
                last = rows[np.clip(ends - 1, 0, len(rows) - 1)]
                first = rows[np.clip(np.minimum(begins + task.piece, ends) - 1, 0, len(rows) - 1)]
                task.wait(first.tolist(), last.tolist())

    def _wait_for_saves(self, name: str, height: int, ranges: Ranges, task: Task) -> None:
        """Of a map of another height, as views make it, all rows must be there."""
        for saved in [self._saved[other] for other in self.kin.get(name, (name,)) if other in self._saved]:
            first, last = [], []
            begin = 0
            for end in ranges.ends[name]:
                some, every = (min(end, begin + task.piece), end) if saved.height == height else (saved.height,) * 2
                first.append(saved.when(some))
                last.append(saved.when(every))
                begin = end
            task.wait(first, last)

    def _wait_for_weights(self, task: Task) -> None:
        """Until as many of those before are no longer in use as the next block takes, if there is no room beside them."""
        used = sum(amount for _, amount in self._weights) + (task.stay + task.streamed) / task.blocks
        for until, amount in self._weights:
            if used <= self._depth:
                break
            used -= amount
            self._walker.room = max(self._walker.room, until)

    def _leave(self, part: Pass, tasks: Mapping[str, Task]) -> None:
        """What groups behind this one may have to wait for."""
        group, ranges = part.group, part.ranges
        for tenancy in tenancies(self.config, group):
            placed = part.placed[tenancy.planes[0][0]]
            used = np.max([_last_use(life, ranges, tasks, placed) for life in tenancy.lives], axis=0)
            rows = self._rows(placed)
            np.maximum(rows, np.roll(used, placed.shift)[:, None], out=rows)
        size = self.config.axi_bytes
        staying = [(name, part.residence.stay_bytes[name] / size) for name in part.residence.stay_bytes]
        self._weights = [(tasks[name].last[-1] - AFTER, amount) for name, amount in staying if amount]
        self._weights = sorted([*self._weights, *self._walker.in_use()])
        for name in group.outputs:
            task = tasks[f"save {name}"]
            ends = ranges.ends[name]
            self._saved[name] = _Saved(group.tensors[name].height, ends, task.first, task.last)

    def _rows(self, placed: Placed) -> Times:
        """Of planes, rows of the ring and words of a row; a view."""
        planes = np.lib.stride_tricks.as_strided(
            self._used[placed.base :], (placed.planes, placed.ring, placed.pitch), (8 * placed.plane, 8 * placed.pitch, 8)
        )  # fmt: skip
        return planes


def _lead(tasks: Sequence[Task]) -> None:
    """Tells each load the layer that comes next."""
    layer: Task | None = None
    for task in reversed(tasks):
        if task.unit is Unit.LOAD:
            task.leads = layer
        elif task.unit is not Unit.SAVE:
            layer = task


def _last_use(life: Life, ranges: Ranges, tasks: Mapping[str, Task], placed: Placed) -> Times:
    """Of each row of the ring. A row is read for the last time in the step behind which it is not kept."""
    kept = ranges.begin[life.last]
    rows = np.arange(placed.height)
    step = np.searchsorted(kept, rows, side="right") - 1
    used = np.zeros(placed.ring)
    for name in life.readers:
        task = tasks[name]
        # The last block of the parameters goes through the rows evenly.
        taken = np.array(task.rows)[step] * (task.cost / task.blocks)
        first, past = kept[step], np.append(kept[1:], placed.height)[step]
        done = np.array(task.last)[step] - AFTER - taken * (past - rows - 1) / np.maximum(1, past - first)
        np.maximum.at(used, rows % placed.ring, done)
    return used
