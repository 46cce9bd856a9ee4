"""Calibration methods: each finds which of a tensor's values its int8 form has to hold."""

from __future__ import annotations

from collections.abc import Callable

from compiler.frontend.importer.values import Params
from compiler.quantise.entropy import best_threshold
from compiler.quantise.histogram import BINS
from compiler.quantise.schemes import Scheme
from compiler.quantise.statistics import CalibrationError, Statistics

Method = Callable[[Scheme, Statistics], Params]

PERCENTILE = 99.99
"""The percentage of the values that are held, unless another number is asked for."""

ROOM = 1.1


def minmax(scheme: Scheme, values: Statistics) -> Params:
    """The form that holds all values."""
    return scheme.holding(values.low, values.high)


def roomy(scheme: Scheme, values: Statistics) -> Params:
    """The form that holds all values and a tenth more, because other inputs reach further."""
    return scheme.holding(values.low * ROOM, values.high * ROOM)


def mse(scheme: Scheme, values: Statistics) -> Params:
    """The form with the least squared error of rounding and clipping."""
    return scheme.least_error(values)


def percentile(percent: float) -> Method:
    """The method that holds this percentage of the values; it leaves out half of the others on each side."""

    def held(scheme: Scheme, values: Statistics) -> Params:
        low, high = values.histogram.between(percent / 100)
        return scheme.holding(max(low, values.low), min(high, values.high))

    return held


def entropy(scheme: Scheme, values: Statistics) -> Params:
    """The form that changes the distribution of distances from zero least."""
    found = values.histogram
    reach = found.edge(BINS + best_threshold(found.distances()))
    return scheme.holding(max(-reach, values.low), min(reach, values.high))


METHODS: dict[str, Method] = {"minmax": minmax, "mse": mse, "percentile": percentile(PERCENTILE), "entropy": entropy}


MEASURED, UNMEASURED = "measured", "mse"
"""The method that ``compiler.quantise.refine`` finds by measuring outputs, and the one used where no inputs allow that."""


def method_of(name: str) -> Method:
    """The method of a name; ``percentile:99.9`` says how many percent."""
    head, _, number = name.partition(":")
    if name in METHODS:
        return METHODS[name]
    try:
        percent = float(number)
    except ValueError:
        percent = 0.0
    if head == "percentile" and 50 < percent <= 100:
        return percentile(percent)
    known = ", ".join((MEASURED, *METHODS))
    raise CalibrationError(
        f"calibration method {name!r}: unknown; choose one of {known}, or percentile:P with P above 50 and at most 100"
    )
