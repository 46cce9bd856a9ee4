"""Finds the quantised model that measures best: it keeps what helps on inputs that the ranges do not come from."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.frontend.importer.requantise import quantised
from compiler.frontend.importer.values import Params
from compiler.frontend.model import Model
from compiler.frontend.session import RuntimeRefusal
from compiler.frontend.types import with_types
from compiler.quantise.bits import Bits, Narrow, Way, as_weights, chosen, narrowed
from compiler.quantise.chosen import methods_of
from compiler.quantise.draft import Draft, Shifts
from compiler.quantise.forms import Form
from compiler.quantise.methods import Method, minmax, mse, percentile, roomy
from compiler.quantise.reference import Reference
from compiler.quantise.sensitive import Loss, Target, losses, reaching
from compiler.quantise.spelt import spelt_out
from compiler.quantise.statistics import CalibrationWarning, Feeds
from compiler.quantise.walk import Layer, shifts_of

Told = Callable[[str], None]
TRIED: dict[str, Method] = {
    "minmax": minmax, "minmax with room": roomy, "mse": mse,
    **{f"percentile:{share}": percentile(share) for share in (99.999, 99.99, 99.9)},
}  # fmt: skip
BY_LAYERS, FIRST, SECOND = "method of each tensor by its layers", "minmax", "percentile:99.99"
"""The methods that are tried for the whole model."""
HOPELESS = 1.0
"""If a draft is this many decibels behind the other with the first method, no other method is tried with it."""
LEAST_GAIN = 2.0
"""The gain in decibels for which the nodes of spelt out functions stay in float."""
LEAST_DECIBELS = 15.0
"""The decibels of an output below which the user is warned."""
MOST_BY_LAYERS = 4
"""The number of batches on which methods are chosen by layers."""
MOST_FOR_WARNING = 2
"""The number of batches on which the layer that loses most is found."""
FEWEST = 4
"""The fewest batches of which some are held back."""


@dataclass(frozen=True, eq=False)
class Choice:
    """One way to quantise a draft, and how it measures.

    ``score`` is the mean signal-to-noise ratio of what is compared, in decibels. ``others`` has methods of single tensors, by
    root. ``shifts`` has the corrections of biases, from the inputs for ranges.
    """

    score: float
    equal: bool
    method: str
    others: Mapping[str, str] = field(default_factory=dict)
    corrected: bool = False
    shifts: Shifts = field(default_factory=dict)

    def params(self, draft: Draft) -> dict[str, Params]:
        return draft.params(TRIED[self.method], {root: TRIED[name] for root, name in self.others.items()})

    def __str__(self) -> str:
        how = BY_LAYERS if self.others else self.method
        return f"{'channels equalised, ' if self.equal else ''}{how}{', biases corrected' if self.corrected else ''}"


@dataclass(frozen=True, eq=False)
class Refined:
    """The best quantised model. Channels of ``float_model`` may be equalised; ``kept`` nodes stay in float for accuracy."""

    float_model: Model
    model: Model
    kept: frozenset[str]


def refined(
    draft: Draft, feeds: Sequence[Feeds], told: Told, target: Target | None = None, bits: Bits | None = None
) -> Refined:
    """Finds the best quantised model of a draft; ``told`` gets the score of each trial."""
    seen, held = (feeds[::2], feeds[1::2]) if len(feeds) >= FEWEST else (feeds, feeds)
    part = draft.calibrated(seen)
    reference = Reference.of(part.model, held, part.late)
    kept = _sensitive(part, reference, seen, told)
    draft, part = draft.keeping(kept, feeds), part.keeping(kept, seen)
    equal = part.equalised(seen)
    drafts = [part] if equal is None else [part, equal]
    trials = [_Trial(each, reference, told) for each in drafts]
    found = {trial.scored(Choice(0.0, bool(trial.draft.factors), FIRST)): trial for trial in trials}
    least = max(choice.score for choice in found) - HOPELESS
    found |= {choice: trial for first, trial in [*found.items()] if first.score >= least for choice in trial.others()}
    found |= {trial.scored(replace(choice, corrected=True), seen): trial for choice, trial in [*found.items()]}
    best = max(found, key=lambda choice: choice.score)
    part = found[best].draft
    reference = Reference.of(part.model, held)
    narrow = _narrow(part, reference, best, seen, bits, told) if bits else {}
    part = replace(part, narrow=as_weights(narrow))
    made = _made(part, best, seen) if narrow else with_types(part.written(best.params(part), best.shifts))
    if target is not None:
        ranked = losses(part.forms, made, held, part.factors)
        kept |= reaching(ranked, lambda names: target.met(reference, _made(part.keeping(names, seen), best, seen)))
    else:
        _warn(reference, made, lambda: losses(part.forms, made, held[:MOST_FOR_WARNING], part.factors))
    if best.equal:
        draft = draft.equalised(feeds) or draft
    draft = _narrowing(draft.keeping(kept, feeds), narrow, feeds)
    return Refined(draft.model, _made(draft, best, feeds), kept)


def _sensitive(draft: Draft, reference: Reference, feeds: Sequence[Feeds], told: Told) -> frozenset[str]:
    """The nodes of spelt out functions (`compiler.quantise.spelt`), if the model gains enough when they stay in float."""
    found = spelt_out(draft.forms)
    if not found:
        return found
    whole, part = (_Trial(each, reference, told) for each in (draft, draft.keeping(found, feeds)))
    gain = part.scored(Choice(0.0, False, FIRST)).score - whole.scored(Choice(0.0, False, FIRST)).score
    told(f"spelt out in float: {gain:+.1f} dB")
    return found if gain >= LEAST_GAIN else frozenset()


def _narrow(
    draft: Draft, reference: Reference, best: Choice, feeds: Sequence[Feeds], bits: Bits, told: Told
) -> dict[Way, Narrow]:  # fmt: skip
    """The weights that get four bits."""
    found = narrowed(draft.model, draft.forms, feeds)

    def noise(layers: Mapping[Way, Narrow]) -> list[float]:
        made = reference.noise(_made(replace(draft, narrow=as_weights(layers)), best, feeds), draft.factors)
        told(f"weights of four bits in {len(layers)} of {len(found)} layers: {min(made, default=math.inf):.1f} dB")
        return made

    return chosen(bits, draft.model, draft.forms, found, noise)


def _narrowing(draft: Draft, ways: Collection[Way], feeds: Sequence[Feeds]) -> Draft:
    """The draft with the weights of these layers in four bits."""
    if not ways:
        return draft
    found = narrowed(draft.model, draft.forms, feeds)
    return replace(draft, narrow=as_weights({way: each for way, each in found.items() if way in ways}))


def _made(draft: Draft, choice: Choice, feeds: Sequence[Feeds]) -> Model:
    params = choice.params(draft)
    return with_types(draft.written(params, corrections(draft, params, feeds) if choice.corrected else None))


def _warn(reference: Reference, model: Model, ranked: Callable[[], Sequence[Loss]]) -> None:
    """Warns the user if an output is of little use."""
    noise = dict(zip(reference.compared, reference.noise(model), strict=True))
    output = min(noise, key=lambda name: noise[name], default="")
    worst = next(iter(ranked()), None) if output and noise[output] < LEAST_DECIBELS else None
    if worst is not None:
        where = f"{worst.noise.layer}, from {worst.before:.1f} to {worst.noise.decibels:.1f} dB"
        warnings.warn(
            f"output {output}: signal to noise {noise[output]:.1f} dB on calibration inputs held back, "
            f"{LEAST_DECIBELS:.0f} are expected; most is lost in {where}; keep what loses most in float: "
            f"--accuracy {LEAST_DECIBELS:.0f}dB",
            CalibrationWarning, stacklevel=2,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Trial:
    """One draft, calibrated on some of the data; ``reference`` has the rest."""

    draft: Draft
    reference: Reference
    told: Told

    def others(self) -> list[Choice]:
        """Tries another method for all tensors, and for each tensor the method that is best for its layers."""
        equal = bool(self.draft.factors)
        by_layers = methods_of(self.draft, self.reference.feeds[:MOST_BY_LAYERS], TRIED)
        asked = [Choice(0.0, equal, SECOND)] + [Choice(0.0, equal, FIRST, by_layers)] * bool(by_layers)
        return [self.scored(each) for each in asked]

    def scored(self, choice: Choice, feeds: Sequence[Feeds] = ()) -> Choice:
        """Writes and measures the choice; biases are corrected on ``feeds``."""
        params = choice.params(self.draft)
        shifts = corrections(self.draft, params, feeds) if choice.corrected else {}
        score = self.reference.score(self.draft.written(params, shifts, self.reference.compared), self.draft.factors)
        self.told(f"{choice}: {score:.1f} dB")
        return replace(choice, score=score, shifts=shifts)


def corrections(draft: Draft, params: Mapping[str, Params], feeds: Sequence[Feeds]) -> Shifts:
    """The corrections of all biases; none, if onnxruntime does not run some node of the model by itself."""
    try:
        return shifts_of(draft.model, with_types(draft.written(params)), feeds, bounded_layers(draft, params))
    except RuntimeRefusal:
        return {}


def bounded_layers(draft: Draft, params: Mapping[str, Params]) -> dict[str, Layer]:
    """The layers with weights, by the node's name, with the bounds of the clamp that joined each."""
    found = {}
    for node in draft.model.nodes:
        if draft.forms.of.get(node.name) in (Form.CONV, Form.GEMM):
            final, *ends = draft.forms.clamp.get(node.output, (node.output, float("-inf"), float("inf")))
            low, high = (quantised(bound, params[final]) for bound in ends)
            found[node.name] = Layer(node.output, final, low, high, params[final])
    return found
