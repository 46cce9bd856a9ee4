"""Finds a small program that still shows a disagreement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from isa.codec import Op, broken_rule
from sim.random.footprint import Dram, OutOfRange, footprint
from sim.random.program import RandomProgram, assemble

COUNTS = frozenset((
    "rows", "pixels", "run", "count", "o_h", "o_w", "k_h", "k_w", "vectors", "chunks", "n0", "n1", "n2", "n3", "n4",
    "s_y", "s_x", "d_y", "d_x", "i_h", "i_w",
))  # fmt: skip
"""The fields that shrink towards 1. All others shrink towards 0."""
ADDRESSES = frozenset((
    "i_addr", "o_addr", "a_addr", "b_addr", "d_addr", "s_addr", "w_addr", "p_addr", "t_addr", "dst", "offset",
))  # fmt: skip
"""The fields that stay: to move operands mostly makes a different program."""


def shrink(program: RandomProgram, disagrees: Callable[[RandomProgram], bool], *, attempts: int = 400) -> RandomProgram:
    """Drops instructions, then makes their fields smaller, while the engines still disagree.

    Every candidate is legal and has its hazards in order, but may read words that it has not written: in simulation all buffers
    start cleared. ``attempts`` limits the candidates that are run.
    """
    search = _Search(program, disagrees, attempts)
    if program.order != "serial":
        search.accept(program.ops, "serial")
    while search.left and (search.drop() or search.simplify()):
        pass
    return search.best


class _Search:
    def __init__(self, program: RandomProgram, disagrees: Callable[[RandomProgram], bool], attempts: int) -> None:
        self.best = program
        self.left = attempts
        self._disagrees = disagrees

    def drop(self) -> bool:
        """Removes runs of instructions, long ones first and from the end; returns whether any went."""
        progress = False
        length = max(1, len(self.best.ops) // 2)
        while length:
            end = len(self.best.ops)
            while end > 0 and self.left:
                start = max(0, end - length)
                if self.accept([*self.best.ops[:start], *self.best.ops[end:]], self.best.order):
                    progress = True
                end = start
            length //= 2
        return progress

    def simplify(self) -> bool:
        """Makes single fields smaller; returns whether any became so."""
        progress = False
        for number in range(len(self.best.ops)):
            for name in self.best.ops[number].row.fields:
                for value in smaller(name, self.best.ops[number][name]):
                    ops = list(self.best.ops)
                    ops[number] = replace(ops[number], values={**ops[number].values, name: value})
                    if self.left and self.accept(ops, self.best.order):
                        progress = True
                        break
        return progress

    def accept(self, ops: Sequence[Op], order: str) -> bool:
        """Takes these instructions if they are legal and the engines still disagree; returns whether it did."""
        if not ops or not all(self._legal(op) for op in ops):
            return False
        self.left -= 1
        candidate = assemble(self.best.config, self.best.seed, ops, self.best.memory, self.best.bases, order)
        if not self._disagrees(candidate):
            return False
        self.best = candidate
        return True

    def _legal(self, op: Op) -> bool:
        program = self.best
        if broken_rule(op, program.config) is not None:
            return False
        try:
            touched = footprint(op, program.config, Dram(program.bases, program.memory.size))
        except OutOfRange:
            return False
        return not touched.conflicts and (op.name == "MISC" or not touched.repeats)


def smaller(name: str, value: int) -> Iterator[int]:
    """The smaller values to try, the smallest first."""
    least = 1 if name in COUNTS else 0
    if name in ADDRESSES or value == least:
        return
    yield least
    if abs(value - least) > 2:
        yield (value + least) // 2
    if name in COUNTS:
        yield value - 1
