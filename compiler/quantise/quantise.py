"""Float model to quantised model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from compiler.frontend.folding import fold_constants
from compiler.frontend.importer.values import Params
from compiler.frontend.model import Array, Model
from compiler.frontend.types import with_types
from compiler.quantise.arrays import read_arrays
from compiler.quantise.choices import Choices
from compiler.quantise.emit import scales_of_weights, written
from compiler.quantise.forms import Form, Forms, forms_of
from compiler.quantise.fuse import fused
from compiler.quantise.methods import method_of
from compiler.quantise.opset import modernised
from compiler.quantise.resample import as_linear_maps
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

MOST_MEAN_RATIO = 128.0
"""Of a mean's input scale over its output scale and the pixels; onnxruntime's kernel takes less than 256."""
RESIZED_BITS = 8
"""Significant bits of a scale: float32 has room for the 8 of a value, too, and the 8 of a pixel's shares at a factor of 8."""
DEFAULT = Choices()


@dataclass(frozen=True, eq=False)
class Quantised:
    """``model`` is what onnxruntime runs; ``statistics`` can be given again instead of calibration data."""

    model: Model
    float_model: Model
    statistics: Mapping[str, Statistics]


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
) -> Quantised:
    """``given``: the forms of inputs that do not come from their statistics."""
    choices.check()
    scheme, method = SCHEMES[choices.scheme], method_of(choices.method)
    prepared = with_types(_simplified(with_types(fold_constants(modernised(model), weights=True))))
    forms = forms_of(prepared, frozenset(choices.kept(model, prepared)) | unbounded(prepared))
    names = forms.quantised()
    with ThreadPoolExecutor(1) as beside:
        # While onnxruntime works, which leaves a core idle for the most part.
        scales = beside.submit(scales_of_weights, prepared, forms, scheme)
        statistics = _statistics(prepared, names, calibration, progress)
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(forms.root(name), []).append(name)
    params: dict[str, Params] = {}
    for group in members.values():
        fixed = next((given[name] for name in group if given and name in given), None)
        together = statistics[group[0]]
        for name in group[1:]:
            together = together.joined(statistics[name])
        params |= dict.fromkeys(group, fixed or method(scheme, together))
    _coarsen_means(prepared, forms, params, members)
    _shorten_resized(prepared, forms, params, members)
    if progress:
        progress(f"quantised {len(names)} tensors")
    means = {name: known.means.values for name, known in statistics.items() if known.means is not None}
    corrected = means if choices.bias_correction else {}
    result = with_types(written(prepared, forms, params, scheme, corrected, scales.result()))
    return Quantised(result, prepared, statistics)


def _coarsen_means(
    model: Model, forms: Forms, params: dict[str, Params], members: Mapping[str, Sequence[str]]
) -> None:  # fmt: skip
    """Means that are next to nothing beside what they are taken of: onnxruntime's kernel refuses so fine a scale."""
    for node in model.nodes:
        found = params.get(node.output)
        shape = model.shape(node.inputs[0])
        if node.op_type != "GlobalAveragePool" or forms.of.get(node.name) is not Form.AVERAGE or found is None or shape is None:
            continue
        ratio = params[node.inputs[0]].scale / (found.scale * math.prod(shape[2:]))
        if ratio >= MOST_MEAN_RATIO:
            coarser = replace(found, scale=found.scale * 2.0 ** (math.floor(math.log2(ratio / MOST_MEAN_RATIO)) + 1))
            params |= dict.fromkeys(members[forms.root(node.output)], coarser)


def _shorten_resized(
    model: Model, forms: Forms, params: dict[str, Params], members: Mapping[str, Sequence[str]]
) -> None:  # fmt: skip
    """Scales of what is resized linearly get few bits, and are a little coarser: onnxruntime's float sums are then exact."""
    for node in model.nodes:
        found = params.get(node.inputs[0]) if node.op_type == "Resize" and node.text("mode", "nearest") == "linear" else None
        if found is not None and node.name in forms.of:
            fraction, exponent = math.frexp(found.scale)
            short = math.ldexp(math.ceil(math.ldexp(fraction, RESIZED_BITS)), exponent - RESIZED_BITS)
            params |= dict.fromkeys(members[forms.root(node.inputs[0])], replace(found, scale=short))


def _simplified(model: Model) -> Model:
    """The same function in fewer kinds of operators."""
    mapped = as_linear_maps(model)
    return fused(on_rows(model if mapped is model else with_types(mapped)))


def _statistics(
    model: Model, names: list[str], calibration: CalibrationData | Batches, progress: Progress | None
) -> Mapping[str, Statistics]:
    if isinstance(calibration, str | Path):
        calibration = read_arrays(calibration)
    if calibration is None:
        calibration = random_data(model)
    if not isinstance(calibration, Mapping):
        return collected(model, names, calibration, progress)
    known = {name: value for name, value in calibration.items() if isinstance(value, Statistics)}
    if not known:
        data = {k: v for k, v in calibration.items() if not isinstance(v, Statistics)}
        return collected(model, names, batches(model, data), progress)
    missing = [name for name in names if name not in known]
    if missing:
        raise CalibrationError(
            f"calibration statistics: tensor {missing[0]} is missing ({len(missing)} in all); collect them again"
        )
    return known
