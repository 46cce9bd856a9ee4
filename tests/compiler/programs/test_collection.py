"""Collections are seldom while a program is compiled, and as the application has them afterwards."""

from __future__ import annotations

import gc

import pytest

from compiler.programs.collection import SELDOM, seldom_collected


@pytest.mark.parametrize("wished", [700, 0, 10 * SELDOM])
def test_thresholds_come_back(wished: int) -> None:
    before = gc.get_threshold()
    gc.set_threshold(wished, 10, 10)
    try:
        with seldom_collected():
            assert gc.get_threshold()[0] == (max(wished, SELDOM) if wished else 0)
        assert gc.get_threshold() == (wished, 10, 10)
        with pytest.raises(ZeroDivisionError):
            seldom_collected()(lambda: 1 // 0)()
        assert gc.get_threshold() == (wished, 10, 10)
    finally:
        gc.set_threshold(*before)
