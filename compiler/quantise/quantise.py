"""Quantises a float model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.folding import fold_constants
from compiler.frontend.importer.values import Params
from compiler.frontend.model import Array, Model
from compiler.frontend.types import with_types
from compiler.quantise.arrays import read_arrays
from compiler.quantise.bits import as_weights, narrowed
from compiler.quantise.choices import Choices
from compiler.quantise.draft import Draft
from compiler.quantise.emit import weights_of
from compiler.quantise.forms import forms_of
from compiler.quantise.fuse import fused
from compiler.quantise.instances import as_rows
from compiler.quantise.joins import last_joins
from compiler.quantise.masks import with_bounded_masks
from compiler.quantise.methods import MEASURED, UNMEASURED, method_of
from compiler.quantise.names import with_free_names
from compiler.quantise.opset import modernised
from compiler.quantise.phases import by_phases
from compiler.quantise.quotients import with_reciprocals
from compiler.quantise.reference import Kept, float_outputs
from compiler.quantise.refine import refined
from compiler.quantise.resample import as_linear_maps
from compiler.quantise.rescaled import with_factors_behind
from compiler.quantise.rows import on_rows
from compiler.quantise.schemes import SCHEMES
from compiler.quantise.statistics import (
    CalibrationError,
    Progress,
    Statistics,
    batches,
    collected,
    random_data,
)
from compiler.quantise.unbounded import unbounded

CalibrationData = Mapping[str, Array | Statistics] | str | Path | None
"""Inputs by name (first dimension: samples), an .npz of them, statistics by tensor, or nothing: random noise."""
Batches = Iterable[Mapping[str, Array]]
"""Inputs by name, batch after batch, read once."""

DEFAULT = Choices()
SHARES = Params(1 / 256, -128)
"""The form of what a softmax makes, in all schemes."""


@dataclass(frozen=True, eq=False)
class Quantised:
    """A quantised model. ``model`` is what onnxruntime runs; ``statistics`` can be given again instead of calibration data."""

    model: Model
    float_model: Model
    statistics: Mapping[str, Statistics]
    kept: frozenset[str] = frozenset()
    """Nodes that stay in float for accuracy."""
    asked: tuple[str, ...] = ()
    """Nodes that stay in float because the user says so."""


def is_float(model: Model) -> bool:
    """Whether no activation in the model is quantised yet (weights that are stored in int8 do not count)."""
    return not any(
        node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear", "QGemm") or "Integer" in node.op_type
        or node.op_type.startswith("QLinear")
        or (node.op_type == "DequantizeLinear" and node.inputs[0] not in model.constants) for node in model.nodes
    )  # fmt: skip


def quantise(
    model: Model,
    calibration: CalibrationData | Batches = None,
    choices: Choices = DEFAULT,
    progress: Progress | None = None,
    given: Mapping[str, Params] | None = None,
    extras: Extras = NO_EXTRAS,
) -> Quantised:
    """Quantises a float model.

    ``given`` has forms of inputs that do not come from their statistics. ``extras`` are those of the machine.
    """
    choices.check()
    scheme = SCHEMES[choices.scheme]
    folded = with_types(fold_constants(modernised(with_free_names(model)), weights=True))
    if extras.products and extras.rows:
        folded = with_types(as_rows(folded))
    prepared = with_types(_simplified(folded))
    if extras.products:
        prepared = with_types(with_bounded_masks(with_reciprocals(with_factors_behind(prepared))))
    by_name = choices.kept(model, prepared)
    asked = frozenset(by_name) | unbounded(prepared)
    forms = forms_of(prepared, asked, extras)
    names = forms.quantised()
    kept = Kept()
    with ThreadPoolExecutor(1) as beside:
        # The weights are made while onnxruntime works, which leaves a core idle for the most part.
        weights = beside.submit(weights_of, prepared, forms, scheme)
        statistics = _statistics(prepared, names, calibration, kept, progress)
    apart = last_joins(forms, statistics)
    if apart:
        forms = forms_of(prepared, asked | apart, extras)
    fixed = {node.output: SHARES for node in prepared.nodes if node.op_type == "Softmax"} | dict(given or {})
    draft = Draft(prepared, forms, scheme, statistics, weights.result(), fixed, asked | apart)
    told = progress or (lambda _: None)
    if choices.method == MEASURED and kept.batches and float_outputs(prepared):
        found = refined(draft, kept.batches, told, choices.target, choices.bits)
        told(f"quantised {len(names)} tensors")
        return Quantised(found.model, found.float_model, statistics, found.kept, by_name)
    if choices.bits is not None:
        if not choices.bits.everywhere:
            raise CalibrationError(f"bits of weights: {choices.weights!r} needs calibration data; give it, or say 4 or 8")
        draft = replace(draft, narrow=as_weights(narrowed(prepared, forms, kept.batches)))
    method = method_of(UNMEASURED if choices.method == MEASURED else choices.method)
    result = with_types(draft.written(draft.params(method)))
    told(f"quantised {len(names)} tensors")
    return Quantised(result, prepared, statistics, asked=by_name)


def _simplified(model: Model) -> Model:
    """A model of the same function with fewer kinds of operators."""
    mapped = as_linear_maps(model)
    return fused(on_rows(by_phases(model if mapped is model else with_types(mapped))))


def _statistics(
    model: Model, names: list[str], calibration: CalibrationData | Batches, kept: Kept, progress: Progress | None
) -> Mapping[str, Statistics]:
    """The statistics of these tensors. ``kept`` keeps some batches of the data, if data is given."""
    if isinstance(calibration, str | Path):
        calibration = read_arrays(calibration)
    if calibration is None:
        return collected(model, names, batches(model, random_data(model)), progress)
    if not isinstance(calibration, Mapping):
        return collected(model, names, kept.passing(calibration), progress)
    known = {name: value for name, value in calibration.items() if isinstance(value, Statistics)}
    if not known:
        data = {k: v for k, v in calibration.items() if not isinstance(v, Statistics)}
        return collected(model, names, kept.passing(batches(model, data)), progress)
    missing = [name for name in names if name not in known]
    if missing:
        raise CalibrationError(
            f"calibration statistics: tensor {missing[0]} is missing ({len(missing)} in all); collect them again"
        )
    return known
