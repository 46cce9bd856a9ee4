"""HiGHS as all parts of the compiler use it: silent, without a relative gap, on one thread.

All models of a process share HiGHS' threads, so it refuses a model that asks for another number than the first model. With one
thread, its answers are also the same on every machine.
"""

from __future__ import annotations

import highspy


def solver(**options: float | int | bool) -> highspy.Highs:
    """An empty model of HiGHS. ``options``: HiGHS' own."""
    model = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, **options}.items():
        model.setOptionValue(name, value)
    return model
