"""Runs programs on the library. It is told each cost once, and gets a walk's masks when it asks for them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

import numpy as np

from isa.config import MachineConfig
from sim.cycle.control import Executed
from sim.cycle.costs import Cost
from sim.cycle.native.layout import WALKS, cost_numbers, fits, header, machine_numbers, walks_of
from sim.cycle.program import MOST_COSTS, Program
from sim.cycle.walks import Masks, Walk
from sim.native.library import Library
from sim.native.numbers import addresses, gathered, nothing, numbers, parted, pointer

LIBRARY = Library("cycle model", Path(__file__).parent, "model.cpp", header, "tilewright_run")
Ask = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))
"""A function from the number of a walk to its masks, and to how many they are."""


def native_execution(config: MachineConfig) -> Callable[[Program], Executed] | None:
    """Runs programs on the library; None where there is no library, or where the machine has more bank groups than it knows."""
    library = LIBRARY.loaded() if fits(config) else None
    return None if library is None else NativeExecution(config, library)


class NativeExecution:
    """Runs programs of one machine, one at a time. Other threads may run while the library reads the table and masks."""

    def __init__(self, config: MachineConfig, library: ctypes.CDLL) -> None:
        self._config, self._library = config, library
        self._machine = numbers(machine_numbers(config))
        self._numbers: dict[Cost | None, int] = {}
        """The row of each cost in the table."""
        self._table = numbers()
        self._walks: list[tuple[Walk | None, ...]] = []
        self._asked: list[Masks] = []
        """The masks that the library reads."""
        self._failed: BaseException | None = None
        self._ask = Ask(self._masks)
        self._alone = Lock()

    def __call__(self, program: Program) -> Executed:
        with self._alone:
            return self._executed(program)

    def _executed(self, program: Program) -> Executed:
        count = len(program.units)
        columns = [
            numbers([-1 if unit is None else unit for unit in program.units]), numbers(program.pcs), numbers(program.lengths),
            numbers(self._rows(program.costs)), *gathered(program.givers), *gathered(program.room),
        ]  # fmt: skip
        told, found = numbers([count, program.words, *addresses(columns)]), nothing(3 * count)
        try:
            done = self._library.tilewright_run(
                pointer(self._machine), pointer(told), pointer(self._table), self._ask, pointer(found)
            )
            if not done:
                raise self._failed or MemoryError("cycle model: no room for what a program's units do")
        finally:
            self._asked.clear()
            self._failed = None
        return Executed(*parted(found, 3))

    def _rows(self, costs: Sequence[Cost | None]) -> list[int]:
        """The row of each cost in the table."""
        rows = self._numbers
        if len(rows) > MOST_COSTS:
            rows.clear()
            self._walks.clear()
            del self._table[:]
        found = []
        for cost in costs:
            number = rows.get(cost)
            if number is None:
                number = rows[cost] = len(rows)
                self._table.extend(cost_numbers(cost))
                self._walks.append(walks_of(self._config, cost))
            found.append(number)
        return found

    def _masks(self, number: int, count: ctypes._Pointer[ctypes.c_int64]) -> int | None:
        """Gives the library the masks of a walk. An error is raised when the library has returned."""
        try:
            walk = self._walks[number // WALKS][number % WALKS]
            assert walk is not None
            masks = np.ascontiguousarray(walk.masks())
        except BaseException as error:
            self._failed = error
            return None
        self._asked.append(masks)
        count[0] = len(masks)
        address: int = masks.ctypes.data
        return address
