"""HiGHS as all parts of the compiler use it: silent, to the last unit, on one thread.

Its threads are of the process: a model that asks for other ones than the first did is refused. One thread also makes its
answers the same on every machine.
"""

from __future__ import annotations

import highspy


def solver(**options: float | int | bool) -> highspy.Highs:
    """An empty model; ``options`` are HiGHS' own."""
    model = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, **options}.items():
        model.setOptionValue(name, value)
    return model
