"""The queue behind read data. A word is stored as soon as its lane has it, its entry when all lanes have theirs."""

from __future__ import annotations

from amaranth import Cat, Module, Signal, Value, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data
from amaranth.lib.wiring import In

from hw.copies import Spread
from hw.window.queue import Queue
from isa.config import MachineConfig


def answer_layout(config: MachineConfig, lanes: int, tag: ShapeLike) -> data.StructLayout:
    """The ``words`` of the lanes, a bit for each lane that was ``read``, and the ``tag`` that was sent along."""
    return data.StructLayout({"words": data.ArrayLayout(8 * config.ic_p, lanes), "read": unsigned(lanes), "tag": tag})


class Answers(Queue):
    """A ``Queue`` of ``answer_layout`` that takes the word of a lane when it ``came``. This may be in the cycle of its entry or
    in any since the entry before. Every lane has a memory of its own, written at the entry's place."""

    def __init__(self, config: MachineConfig, lanes: int, tag: ShapeLike, depth: int) -> None:
        self.lanes = lanes
        super().__init__(answer_layout(config, lanes, tag), depth, {"came": In(lanes)})

    def _store(self, m: Module, push: Value, last: Signal, first: Spread) -> None:
        i, o = self.i.payload, self.o.payload
        self._memory(m, "storage", push, last, first, Cat(i.read, i.tag), Cat(o.read, o.tag))
        for lane in range(self.lanes):
            self._memory(m, f"words{lane}", self.came[lane], last, first, i.words[lane], o.words[lane])
