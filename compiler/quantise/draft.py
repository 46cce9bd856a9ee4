"""All that a quantised model is written from, except its scales: the float model, its forms, the statistics of its tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.values import Params
from compiler.frontend.model import Model
from compiler.quantise.emit import Weights, weights_of, written
from compiler.quantise.equalise import Factors, equalised
from compiler.quantise.forms import HEAVY, Form, Forms, forms_of
from compiler.quantise.functions import functions_of
from compiler.quantise.masks import with_masks_held
from compiler.quantise.methods import Method, minmax
from compiler.quantise.rescaled import with_rescaled
from compiler.quantise.schemes import Scheme
from compiler.quantise.statistics import Feeds, Statistics, collected

MOST_MEAN_RATIO = 128.0
"""The greatest ratio of a mean's input scale to its output scale times the pixels; onnxruntime's kernel takes less than 256."""
RESIZED_BITS = 8
"""The significant bits of a resized tensor's scale: float32 also holds the 8 of a value, and 8 for shares at a factor of 8."""
FEW = 4096
"""The form of a tensor of fewer values holds all of them; outliers say nothing there."""
LATE = 16
"""The number of layers at the end of a network whose results are compared."""
Shifts = Mapping[str, NDArray[np.float64]]
"""The number that is added to each value of a layer's bias, by the layer's output."""


@dataclass(frozen=True, eq=False)
class Draft:
    """A quantised model before its scales are chosen. ``given`` are forms that do not come from statistics."""

    model: Model
    forms: Forms
    scheme: Scheme
    statistics: Mapping[str, Statistics]
    weights: Weights
    given: Mapping[str, Params] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    """Nodes that stay in float."""
    factors: Factors = field(default_factory=dict)
    """The factors that channels are divided by, where they are equalised."""
    narrow: Weights = field(default_factory=dict)
    """The weights in four bits."""

    def keeping(self, names: frozenset[str], feeds: Sequence[Feeds]) -> Draft:
        """The draft with more nodes in float."""
        kept = replace(self, forms=forms_of(self.model, self.kept | names, self.forms.extras), kept=self.kept | names)
        missing = [name for name in kept.forms.quantised() if name not in self.statistics]
        more = collected(self.model, missing, feeds) if missing else {}
        return replace(kept, statistics={**self.statistics, **more})

    def calibrated(self, feeds: Sequence[Feeds]) -> Draft:
        """The draft with the statistics of other inputs."""
        return replace(self, statistics=collected(self.model, self.forms.quantised(), feeds))

    def equalised(self, feeds: Sequence[Feeds]) -> Draft | None:
        """The draft with equalised channels, whose statistics come from ``feeds``; None if no channel gains from it."""
        model, factors = equalised(self.model, self.statistics)
        if not factors:
            return None
        forms = replace(self.forms, model=model)
        changed = collected(model, [name for name in forms.quantised() if name in factors], feeds)
        return replace(
            self, model=model, forms=forms, weights=weights_of(model, forms, self.scheme), factors=factors,
            statistics={**self.statistics, **changed},
        )  # fmt: skip

    @cached_property
    def members(self) -> dict[str, list[str]]:
        """The tensors that share a scale, by their root."""
        found: dict[str, list[str]] = {}
        for name in self.forms.quantised():
            found.setdefault(self.forms.root(name), []).append(name)
        return found

    @cached_property
    def values(self) -> dict[str, Statistics]:
        """The joined statistics of all members, by root."""
        found = {}
        for root, names in self.members.items():
            together = self.statistics[names[0]]
            for name in names[1:]:
                together = together.joined(self.statistics[name])
            found[root] = together
        return found

    @cached_property
    def of_functions(self) -> dict[str, Params]:
        """The forms of tensors that only a function reads, by root; they do not depend on the method."""
        found = functions_of(self.forms)
        alone = {root: names[0] for root, names in self.members.items() if len(names) == 1}
        return {
            root: self.scheme.least_error(self.values[root], found[name]) for root, name in alone.items() if name in found
        }

    def params(self, method: Method, others: Mapping[str, Method] | None = None) -> dict[str, Params]:
        """The form of every tensor that gets an int8 form. ``others`` are methods of single tensors, by root."""
        chosen = dict(self.of_functions)
        for root, values in self.values.items():
            if root not in chosen:
                own = (others or {}).get(root, method)
                chosen[root] = (minmax if values.histogram.total < FEW else own)(self.scheme, values)
        return self.finished(chosen)

    def finished(self, chosen: Mapping[str, Params]) -> dict[str, Params]:
        """The form of every tensor from the forms of the roots, adapted to what onnxruntime's kernels take."""
        found: dict[str, Params] = {}
        for root, names in self.members.items():
            fixed = next((self.given[name] for name in names if name in self.given), None)
            found |= dict.fromkeys(names, fixed or chosen[root])
        _coarsen_means(self.model, self.forms, found, self.members)
        _shorten_resized(self.model, self.forms, found, self.members)
        found = with_rescaled(self.model, self.forms.rescaled, found, self.model.consumers())
        return with_masks_held(self.model, self.scheme, self.statistics, found)

    @cached_property
    def late(self) -> tuple[str, ...]:
        """The results of the last layers. They have many values where an output has few, and no softmax hides most of them."""
        layers = [node for node in self.model.nodes if node.op_type in HEAVY and node.name in self.forms.of]
        return tuple(self.forms.clamp.get(node.output, (node.output,))[0] for node in layers[-LATE:])

    def written(
        self, params: Mapping[str, Params], shifts: Shifts | None = None, showing: Sequence[str] = ()
    ) -> Model:  # fmt: skip
        """Writes the quantised model. The float images of the tensors in ``showing`` become outputs, too.

        The types of tensors other than inputs and outputs are not known yet.
        """
        shown = replace(self.model, outputs=tuple(dict.fromkeys((*self.model.outputs, *showing))))
        return written(shown, self.forms, params, self.scheme, shifts or {}, {**self.weights, **self.narrow})


def _coarsen_means(
    model: Model, forms: Forms, params: dict[str, Params], members: Mapping[str, Sequence[str]]
) -> None:  # fmt: skip
    """Makes scales of means coarser that are tiny beside their input's scale; onnxruntime's kernel refuses finer ones."""
    for node in model.nodes:
        found = params.get(node.output)
        shape = model.shape(node.input(0))
        if node.op_type != "GlobalAveragePool" or forms.of.get(node.name) is not Form.AVERAGE or found is None or shape is None:
            continue
        ratio = params[node.inputs[0]].scale / (found.scale * math.prod(shape[2:]))
        if ratio >= MOST_MEAN_RATIO:
            coarser = replace(found, scale=found.scale * 2.0 ** (math.floor(math.log2(ratio / MOST_MEAN_RATIO)) + 1))
            params |= dict.fromkeys(members[forms.root(node.output)], coarser)


def _shorten_resized(
    model: Model, forms: Forms, params: dict[str, Params], members: Mapping[str, Sequence[str]]
) -> None:  # fmt: skip
    """Gives the scales of linearly resized tensors few bits and rounds them up, so that onnxruntime's float sums are exact."""
    for node in model.nodes:
        found = params.get(node.inputs[0]) if node.op_type == "Resize" and node.text("mode", "nearest") == "linear" else None
        if found is not None and node.name in forms.of:
            fraction, exponent = math.frexp(found.scale)
            short = math.ldexp(math.ceil(math.ldexp(fraction, RESIZED_BITS)), exponent - RESIZED_BITS)
            params |= dict.fromkeys(members[forms.root(node.inputs[0])], replace(found, scale=short))
