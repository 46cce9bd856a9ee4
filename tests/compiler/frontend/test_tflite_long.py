"""TFLite models of 16-bit activations and 8-bit weights, beside TFLite's own interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.frontend.errors import ModelError
from compiler.frontend.pipeline import import_model
from compiler.xgraph.ops import Cpu
from tests.compiler.frontend.long_models import LONG
from tests.compiler.frontend.tflite_models import Lite
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs
from tilewright.interpreter import beside_interpreter

RELU, SAME = 1, 0


def layer(lite: Lite, name: str, shape: tuple[int, ...], unit: float, to: float, bias: int) -> tuple[int, int]:
    """Weights and bias of a layer on inputs of scale ``unit``; scales that give results of scale ``to`` about 16 bits."""
    rng = np.random.default_rng(len(name))
    outs = shape[0]
    scales = (rng.uniform(0.5, 1, outs) * to / unit / 127 / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
    w = lite.tensor(f"{name}/w", shape, scale=scales, data=rng.integers(-127, 128, shape))
    values = rng.integers(-bias, bias, outs)
    return w, lite.tensor(f"{name}/b", [outs], "int64", scale=scales * np.float32(unit), data=values)


def sixteen_by_eight(bias: int = 100_000) -> bytes:
    """Two convolutions and a dense layer."""
    lite, unit = Lite(), 1 / 32768
    x = lite.tensor("x", (1, 9, 7, 5), "int16", scale=unit)
    for number, channels in enumerate((6, 3)):
        inputs = 5 if number == 0 else 6
        w, b = layer(lite, f"conv{number}", (channels, 3, 3, inputs), unit, 1 / 16384, bias)
        y = lite.tensor(f"y{number}", (1, 9, 7, channels), "int16", scale=unit)
        options = {"Padding": SAME, "StrideH": 1, "StrideW": 1, "FusedActivationFunction": 0 if number else RELU}
        lite.op("CONV_2D", [x, w, b], [y], "Conv2DOptions", **options)
        x = y
    w, b = layer(lite, "dense", (10, 9 * 7 * 3), unit, 1 / 16384, bias)
    y = lite.tensor("scores", (1, 10), "int16", scale=unit)
    lite.op("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions")
    return lite.model([0], [y])


def test_layers_run_on_the_machine_and_differ_from_the_interpreter_by_a_step(tmp_path: Path) -> None:
    """Its fixed-point multipliers round at 2^-31 of a scale, and half away from zero."""
    path = tmp_path / "long.tflite"
    path.write_bytes(sixteen_by_eight())
    compiled = compile_model(str(path), LONG, cache=False)
    kinds = [type(op).__name__ for op in compiled.imported.graph.ops if not isinstance(op, Cpu)]
    assert kinds == ["LongConv"] * 3
    inputs = random_inputs(compiled.program)
    assert check(compiled, inputs, per_layer=True).equal
    beside = beside_interpreter(path, compiled.program, inputs)
    if isinstance(beside, str):
        pytest.skip(beside)
    assert all(row.within(1) for row in beside), str(beside)


def test_a_bias_beyond_32_bits_is_refused() -> None:
    with pytest.raises(ModelError, match=r"bias conv0/b is \d+ at most, less than 2\^31 is expected; quantise the model again"):
        import_model(sixteen_by_eight(bias=1 << 36))
