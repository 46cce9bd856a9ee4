"""Constraints on softmax and normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.constraints.base import constrains
from compiler.frontend.model import Array
from isa.checks import MAX_ROW

SOFTMAXES = ("Softmax", "QLinearSoftmax")
NORMALISATIONS = ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")


@constrains(*SOFTMAXES, *NORMALISATIONS)
def last_axis(shape: Sequence[int], axis: int, flattened: bool = True) -> bool:
    """It goes over the last dimension alone."""
    return axis == len(shape) - 1 or (flattened and all(size == 1 for size in shape[axis:-1]))


@constrains(*SOFTMAXES, *NORMALISATIONS)
def row_fits(length: int) -> bool:
    """A row has at most 4096 elements."""
    return length <= MAX_ROW


@constrains(*SOFTMAXES, *NORMALISATIONS, "QuantizeLinear")
def numbers_fit(found: object) -> bool:
    """ROW holds its numbers: a softmax has an output scale above 1/512, a normalisation moderate factors, offsets and
    epsilon."""
    return found is not None


@constrains(*NORMALISATIONS)
def factors_constant(values: Sequence[Array | None], length: int) -> bool:
    """Factors and offsets are constants: one number for each element of a row, or one in all."""
    return all(value is not None and value.size in (1, length) for value in values)


@constrains(*NORMALISATIONS)
def one_result(outputs: Sequence[str]) -> bool:
    """Mean and deviation are not asked for."""
    return not any(outputs[1:])
