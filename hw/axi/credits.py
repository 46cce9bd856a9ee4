"""Counts what is out and has not come back."""

from __future__ import annotations

from typing import Any

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Credits(wiring.Component):
    """Counts up to ``most`` that are ``out``: ``take`` adds up to ``step`` in a cycle, ``give`` takes one away.

    ``out`` comes from a register: what is given back in one cycle can be taken in the next. The count is wrong once a user
    takes more than are left, or gives what it did not take.
    """

    def __init__(self, most: int, step: int = 1) -> None:
        super().__init__({"take": In(range(step + 1)), "give": In(1), "out": Out(range(most + 1))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.sync += self.out.eq(self.out + self.take - self.give)
        return m
