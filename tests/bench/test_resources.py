"""Cells of a synthesis as resources."""

from __future__ import annotations

import pytest

from bench.resources import cells_of_design, used
from isa.errors import TilewrightError


def test_memory_counts_among_the_luts_and_half_block_rams_as_halves() -> None:
    cells = {"LUT2": 3, "INV": 1, "RAM64M8": 2, "FDRE": 5, "FDSE": 1, "DSP48E2": 4, "RAMB36E2": 1, "RAMB18E2": 1, "CARRY4": 9}
    assert used(cells) == {"LUT": 20, "LUT as memory": 16, "FF": 6, "DSP": 4, "BRAM": 1.5}


def test_a_cell_that_nobody_counts_is_refused() -> None:
    with pytest.raises(TilewrightError, match="cells URAM288: expected in CELLS or UNCOUNTED"):
        used({"LUT2": 1, "URAM288": 2})


def test_the_cells_of_the_whole_design_are_read_from_broken_json() -> None:
    statistics = '{"modules": {"num_cells_by_type": {"LUT2": 1}} "x"}, ' \
        '"design": {"num_cells": 2, "num_cells_by_type": {"LUT3": 2}}}'
    assert cells_of_design(statistics) == {"LUT3": 2}
