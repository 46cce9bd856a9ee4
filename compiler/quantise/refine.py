"""The quantised model that measures best: what is tried is kept if it helps on inputs that ranges do not come from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler.frontend.importer.requantise import quantised
from compiler.frontend.importer.values import Params
from compiler.frontend.model import Model
from compiler.frontend.session import RuntimeRefusal
from compiler.quantise.draft import Draft, Shifts
from compiler.quantise.forms import Form
from compiler.quantise.methods import Method, minmax, mse, percentile, roomy
from compiler.quantise.reference import Reference
from compiler.quantise.sensitive import Loss, Target, losses, reaching
from compiler.quantise.statistics import CalibrationWarning, Feeds
from compiler.quantise.walk import Layer, shifts_of

Told = Callable[[str], None]
TRIED: dict[str, Method] = {
    "minmax": minmax, "minmax with room": roomy, "mse": mse,
    **{f"percentile:{share}": percentile(share) for share in (99.999, 99.99, 99.9)},
}  # fmt: skip
LEAST_DECIBELS = 15.0
"""Of an output, below which the user is warned."""
FEWEST = 4
"""Batches of which some are held back."""


@dataclass(frozen=True)
class Choice:
    """``score``: the mean signal to noise of what is compared, in decibels."""

    score: float
    equal: bool
    method: str
    corrected: bool


@dataclass(frozen=True, eq=False)
class Refined:
    """``float_model``: its channels may be equalised; ``kept``: nodes that stay in float for the target's sake."""

    float_model: Model
    model: Model
    kept: frozenset[str]


def refined(draft: Draft, feeds: Sequence[Feeds], told: Told, target: Target | None = None) -> Refined:
    """``told`` gets the score of each trial."""
    seen, held = (feeds[::2], feeds[1::2]) if len(feeds) >= FEWEST else (feeds, feeds)
    part = draft.calibrated(seen)
    equal = part.equalised()
    drafts = [part] if equal is None else [part, equal.calibrated(seen)]
    trials = [_Trial(each, Reference.of(each.model, held, each.late), told) for each in drafts]
    best = max((trial.best(seen) for trial in trials), key=lambda choice: choice.score)
    part = drafts[best.equal]
    reference = Reference.of(part.model, held)
    ranked = losses(part.forms, _made(part, best, seen), held)
    kept = frozenset[str]()
    if target is not None:
        kept = reaching(ranked, lambda names: target.met(reference, _made(part.keeping(names, seen), best, seen)))
    elif ranked:
        _warn(reference, _made(part, best, seen), ranked[0])
    if best.equal:
        equal = draft.equalised()
        draft = draft if equal is None else equal.calibrated(feeds)
    draft = draft.keeping(kept, feeds) if kept else draft
    return Refined(draft.model, _made(draft, best, feeds), kept)


def _made(draft: Draft, choice: Choice, feeds: Sequence[Feeds]) -> Model:
    params = draft.params(TRIED[choice.method])
    return draft.written(params, corrections(draft, params, feeds) if choice.corrected else None)


def _warn(reference: Reference, model: Model, worst: Loss) -> None:
    """Where an output is of little use."""
    noise = dict(zip(reference.compared, reference.noise(model), strict=True))
    output = min(noise, key=lambda name: noise[name], default="")
    if output and noise[output] < LEAST_DECIBELS:
        where = f"{worst.noise.layer}, from {worst.before:.1f} to {worst.noise.decibels:.1f} dB"
        warnings.warn(
            f"output {output}: signal to noise {noise[output]:.1f} dB on calibration inputs held back, "
            f"{LEAST_DECIBELS:.0f} are expected; most is lost in {where}; keep what loses most in float: "
            f"--accuracy {LEAST_DECIBELS:.0f}dB",
            CalibrationWarning, stacklevel=2,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Trial:
    """One draft, calibrated on some of the data; ``reference`` is of others."""

    draft: Draft
    reference: Reference
    told: Told

    def best(self, feeds: Sequence[Feeds]) -> Choice:
        """``feeds``: those that biases are corrected on."""
        params = {name: self.draft.params(method) for name, method in TRIED.items()}
        scores = {name: self._score(name, params[name]) for name in TRIED}
        method = max(scores, key=lambda name: scores[name])
        shifts = corrections(self.draft, params[method], feeds)
        corrected = self._score(f"{method}, biases corrected", params[method], shifts)
        return Choice(max(corrected, scores[method]), self.draft.equal, method, corrected > scores[method])

    def _score(self, name: str, params: Mapping[str, Params], shifts: Shifts | None = None) -> float:
        score = self.reference.score(self.draft.written(params, shifts, self.draft.late))
        self.told(f"{'channels equalised, ' if self.draft.equal else ''}{name}: {score:.1f} dB")
        return score


def corrections(draft: Draft, params: Mapping[str, Params], feeds: Sequence[Feeds]) -> Shifts:
    """Of all biases; none, if onnxruntime does not run a node of the model by itself."""
    try:
        return shifts_of(draft.written(params), Reference.of(draft.model, feeds), bounded_layers(draft, params))
    except RuntimeRefusal:
        return {}


def bounded_layers(draft: Draft, params: Mapping[str, Params]) -> dict[str, Layer]:
    """Those with a bias, by the node's name, with the bounds of the clamp that joins each."""
    found = {}
    for node in draft.model.nodes:
        if draft.forms.of.get(node.name) in (Form.CONV, Form.GEMM):
            final, *ends = draft.forms.clamp.get(node.output, (node.output, float("-inf"), float("inf")))
            low, high = (quantised(bound, params[final]) for bound in ends)
            found[node.name] = Layer(node.output, final, low, high, params[final])
    return found
