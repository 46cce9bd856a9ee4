"""What a user chooses about a quantisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from compiler.frontend.model import Model
from compiler.quantise.bits import Bits, bits_of
from compiler.quantise.methods import MEASURED, method_of
from compiler.quantise.schemes import SCHEMES
from compiler.quantise.sensitive import Target
from compiler.quantise.statistics import CalibrationError

EXACT, USUAL, INEXACT = "exact", "usual", "inexact"
ACTIVATIONS = ("8", "16")
FOLLOW = (EXACT, USUAL, INEXACT)
"""What stays off the machine: all that cannot follow the kernels in all cases; only what would differ in every run; nothing."""


@dataclass(frozen=True)
class Choices:
    """All that a user chooses.

    ``keep_float`` has names of nodes, or patterns such as ``head/*``, that stay on the CPU in float. ``method`` is a
    calibration method for all tensors; with ``measured``, ``compiler.quantise.refine`` finds the best one. ``accuracy`` is the
    decibels that each output must reach, and ``top1`` the share of inputs whose greatest output must stay the same, on
    calibration inputs that are held back; layers stay in float for it. ``weights`` are their bits (``compiler.quantise.bits``).
    With ``rest`` the float nodes of a partly quantised model are quantised, too. ``follow`` says how much stays on the CPU
    because it cannot follow onnxruntime's kernels in all cases (``FOLLOW``). ``activations`` are the bits of what dense layers
    read and make, 8 or 16; ``only`` names the layers that have 16.
    """

    scheme: str = "free"
    method: str = MEASURED
    keep_float: tuple[str, ...] = ()
    rest: bool = False
    follow: str = USUAL
    accuracy: float | None = None
    top1: float | None = None
    weights: str = "8"
    activations: str = "8"
    only: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuses values that are unknown or contradict each other, before any work is done."""
        if self.scheme not in SCHEMES:
            raise CalibrationError(f"quantisation scheme {self.scheme!r}: unknown; choose one of {', '.join(SCHEMES)}")
        if self.method != MEASURED:
            method_of(self.method)
        if self.top1 is not None and not 0 < self.top1 <= 1:
            raise CalibrationError(f"top-1: {self.top1} is asked for, expected a share above 0 and at most 1, as 0.99")
        if self.target is not None and self.method != MEASURED:
            raise CalibrationError(f"accuracy: needs calibration method {MEASURED}, found {self.method!r}; leave one out")
        bits = self.bits
        if bits is not None and self.scheme != "free":
            raise CalibrationError(f"bits of weights: {self.weights!r} needs scheme free, found {self.scheme!r}; leave one out")
        if bits is not None and not bits.everywhere and self.method != MEASURED:
            raise CalibrationError(
                f"bits of weights: {self.weights!r} needs calibration method {MEASURED}, found {self.method!r}; leave one out"
            )
        if self.activations not in ACTIVATIONS:
            raise CalibrationError(f"bits of activations: {self.activations!r} is unknown; choose 8 or 16")
        if self.only and self.activations == "8":
            what = f"layers {self.only[0]!r}: say which have activations of 16 bits, and these have 8"
            raise CalibrationError(f"{what}; choose 16, or leave them out")
        if self.follow not in FOLLOW:
            raise CalibrationError(f"following kernels: {self.follow!r} is unknown; choose one of {', '.join(FOLLOW)}")

    @property
    def bits(self) -> Bits | None:
        return bits_of(self.weights)

    @property
    def target(self) -> Target | None:
        if self.accuracy is None and self.top1 is None:
            return None
        return Target(-math.inf if self.accuracy is None else self.accuracy, self.top1 or 0.0)

    def kept(self, model: Model, left: Model | None = None) -> tuple[str, ...]:
        """The nodes that stay in float, in the order of the model.

        ``left`` is the model after fusion; a pattern must find a node that is still in it.
        """
        names = [node.name for node in model.nodes]
        remain = {node.name for node in (left or model).nodes}
        found: set[str] = set()
        for pattern in self.keep_float:
            hit = _matching(pattern, names)
            if not hit:
                raise CalibrationError(f"keep in float: no node is called {pattern!r}; {_some(names)}")
            if not remain.intersection(hit):
                raise CalibrationError(
                    f"keep in float: {pattern!r} finds {hit[0]}, which is folded into the layer before it; name that layer"
                )
            found.update(hit)
        return tuple(name for name in names if name in found and name in remain)


def decibels_of(value: float | str) -> float:
    """The number of decibels in a value, with or without its unit."""
    try:
        found = float(str(value).lower().removesuffix("db"))
    except ValueError:
        found = math.nan
    if math.isnan(found):
        raise CalibrationError(f"accuracy {value!r}: not a number; give decibels, as 30dB")
    return found


def _matching(pattern: str, names: list[str]) -> list[str]:
    """The names that a pattern finds. A pattern that is itself a name finds only this one, whatever characters it holds."""
    same: Callable[[str], bool] = pattern.__eq__ if pattern in names else lambda name: fnmatchcase(name, pattern)
    return [name for name in names if same(name)]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"the model has {', '.join(names[:5])}{more}"
