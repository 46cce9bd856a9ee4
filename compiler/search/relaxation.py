"""The relaxation of the set partition of ``certify.py``: a group may be chosen in part. It gives each operation a worth."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray

from compiler.fusion.legal import Mask, bits_of
from compiler.search.solver import solver


class Relaxation:
    """The linear programme. A row is an operation; a column is a group, and is added when the group has a price."""

    def __init__(self, operations: int) -> None:
        self._model: highspy.Highs = solver()
        none = np.array([], np.int32)
        for _ in range(operations):
            self._model.addRow(1.0, 1.0, 0, none, np.array([], np.float64))

    def add(self, mask: Mask, price: int) -> None:
        members = np.array([*bits_of(mask)], np.int32)
        self._model.addCol(float(price), 0.0, highspy.kHighsInf, len(members), members, np.ones(len(members)))

    def solve(self) -> tuple[float, NDArray[np.float64]]:
        """Returns the value of the programme, and the worth of each operation: the dual of its row."""
        self._model.run()
        return float(self._model.getInfo().objective_function_value), np.array(self._model.getSolution().row_dual)
