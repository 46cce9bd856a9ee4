"""The constraints on a machine: ``fps(net) >= 30``, ``latency <= 5``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from isa.errors import TilewrightError
from isa.names import nearest
from tilewright.exploring.point import Point

FIGURES = ("fps", "latency", "energy", "dram", "luts", "dsps", "brams", "urams")
OF_MODELS = FIGURES[:4]
RISES = ("fps",)
"""The figures whose bound is the most that a program can reach. For all others it is the least."""
_FORM = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*(>=|<=)\s*([-+.\deE]+)\s*")


@dataclass(frozen=True)
class Constraint:
    """A limit of a figure. ``latency`` is in milliseconds, ``energy`` in millijoules, ``dram`` in bytes; without a model it is
    that of the mean."""

    figure: str
    model: str | None
    most: bool
    """Whether the limit is the most that the figure may be; otherwise it is the least."""
    limit: float

    def __str__(self) -> str:
        of = "" if self.model is None else f"({self.model})"
        return f"{self.figure}{of} {'<=' if self.most else '>='} {self.limit:g}"

    def excess(self, point: Point) -> float:
        """The factor by which a point is beyond the limit. With 1 or less it meets the limit."""
        value = point.figure(self.figure, self.model)
        if self.most:
            return value / self.limit if self.limit else float(value > 0) * float("inf")
        return self.limit / value if value else float("inf")

    @property
    def certain(self) -> bool:
        """Whether no program meets the limit if the bound does not."""
        return self.most != (self.figure in RISES)


def constraint_of(text: str, models: Sequence[str]) -> Constraint:
    form = _FORM.fullmatch(text)
    if form is None:
        raise TilewrightError(f"explore --constraint: {text!r} is none; expected a figure and a limit, as 'fps(a) >= 30'")
    figure, model, sign, number = form.groups()
    if figure not in FIGURES:
        known = f"{nearest(figure, FIGURES)}; known are {', '.join(FIGURES)}"
        raise TilewrightError(f"explore --constraint {text!r}: figure {figure!r} is unknown{known}")
    if model is not None and (figure not in OF_MODELS or model not in models):
        where = f"models are {', '.join(models)}" if figure in OF_MODELS else "it is the machine's; leave the model out"
        raise TilewrightError(f"explore --constraint {text!r}: no {figure} of {model!r}; {where}")
    try:
        limit = float(number)
    except ValueError:
        raise TilewrightError(f"explore --constraint {text!r}: {number!r} is not a number") from None
    if sign == "<=" and limit <= 0 and figure not in ("urams",):
        raise TilewrightError(f"explore --constraint {text!r}: no machine has so little; expected a limit above 0")
    return Constraint(figure, model, sign == "<=", limit)


def check_together(constraints: Sequence[Constraint]) -> None:
    """Raises an error for two constraints that exclude each other."""
    for low in constraints:
        for high in constraints:
            same = low.figure == high.figure and low.model == high.model
            if same and high.most and not low.most and low.limit > high.limit:
                raise TilewrightError(f"explore --constraint: {low} and {high} contradict each other; leave one of them out")
