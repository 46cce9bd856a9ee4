"""CONV against onnxruntime: QLinearConv and ConvTranspose, equal in every bit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from isa.config import MachineConfig
from isa.instructions import Buffer
from tests.sim.functional.lowering import CONFIGS, Lowered, pack_records, pack_weights
from tests.sim.functional.onnx_models import run_node


@dataclass(frozen=True)
class Case:
    """A convolution; ``pads`` as in ONNX: top, left, bottom, right."""

    name: str
    channels: int
    outputs: int
    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    group: int = 1
    dtype: type = np.int8
    size: tuple[int, int] = (12, 14)


CASES = [
    Case("pointwise", 19, 23),
    Case("3x3, uint8", 9, 10, (3, 3), pads=(1, 1, 1, 1), dtype=np.uint8),
    Case("asymmetric pads, stride 2", 6, 13, (3, 3), (2, 2), pads=(0, 1, 2, 1)),
    Case("5x3, strides 1 and 3", 5, 7, (5, 3), (1, 3), pads=(2, 0, 2, 1), dtype=np.uint8),
    Case("dilation 2 and 3", 7, 6, (3, 3), dilations=(2, 3), pads=(2, 3, 2, 3)),
    Case("7x7 stride 2 on an image", 3, 16, (7, 7), (2, 2), pads=(3, 3, 3, 3), dtype=np.uint8),
    Case("groups", 18, 27, (3, 3), pads=(1, 1, 1, 1), group=3),
    Case("one channel for each group", 6, 6, (3, 3), (2, 2), pads=(1, 1, 1, 1), group=6, dtype=np.uint8),
]


def lower_conv(config: MachineConfig, case: Case, x: np.ndarray, w: np.ndarray, bias: np.ndarray, scale: np.ndarray,
               x_zp: int, y_zp: int) -> np.ndarray:  # fmt: skip
    """``x_zp`` and ``y_zp`` as int8 values on the chip."""
    program = Lowered(config)
    height, width = case.size
    o_h, o_w = (
        (n + before + after - d * (k - 1) - 1) // s + 1
        for n, before, after, d, k, s in zip(
            case.size, case.pads[:2], case.pads[2:], case.dilations, case.kernel, case.strides, strict=True
        )
    )
    first = program.load_tensor(x, case.group)
    full_bias = bias - x_zp * w.astype(np.int32).sum(axis=(1, 2, 3))
    per_group = case.outputs // case.group
    groups = [slice(g * per_group, (g + 1) * per_group) for g in range(case.group)]
    program.load_parameters(Buffer.WEIGHT, np.concatenate([pack_weights(config, w[g]) for g in groups]))
    parameters = np.concatenate([pack_records(config, full_bias[g], scale[g]) for g in groups])
    program.load_parameters(Buffer.PARAM, parameters)
    vectors = program.vectors(case.channels // case.group)
    pitch = len(parameters) // case.group // config.chunks_per_word * config.words_per_chunk
    output = program.words(case.group * pitch * o_h * o_w)
    program.emit(
        "CONV", i_addr=first, i_off=-case.pads[0] * width % 2**24, i_ys=case.strides[0] * width, t_ys=case.dilations[0] * width,
        i_cs=height * width, i_h=height, i_w=width, pad_t=case.pads[0], pad_l=case.pads[1], pad_value=x_zp, vectors=vectors,
        s_y=case.strides[0], s_x=case.strides[1], d_y=case.dilations[0], d_x=case.dilations[1],
        k_h=case.kernel[0], k_w=case.kernel[1], o_h=o_h, o_w=o_w, o_xs=1, o_ys=o_w, o_cs=o_h * o_w, o_addr=output,
        chunks=len(parameters), g_chunks=len(parameters) // case.group, g_step=vectors * height * width,
        zp=y_zp, lo=-128, hi=127,
    )  # fmt: skip
    return program.save_and_run(output, (1, case.outputs, o_h, o_w), case.dtype, case.group, pitch)


def random_layer(case: Case, free_scales: bool) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Weights of 7 bits: onnxruntime saturates sums of pairs at full range on machines without VNNI."""
    rng = np.random.default_rng(len(case.name))
    info = np.iinfo(case.dtype)
    x: np.ndarray = rng.integers(info.min, info.max + 1, (1, case.channels, *case.size)).astype(case.dtype)
    shape = (case.outputs, case.channels // case.group, *case.kernel)
    spread = 2.0 ** -round(math.log2(37 * math.sqrt(math.prod(shape[1:]))))
    w_scale = spread * 2.0 ** rng.integers(-1, 2, case.outputs)
    x_scale, y_scale = 0.5, 0.25
    x_zp, y_zp = (0, 0) if case.dtype is np.int8 else (128, 128)
    if free_scales:
        w_scale = w_scale * rng.uniform(0.5, 1.5, case.outputs)
        x_scale, y_scale = 0.0371, 0.0219
        x_zp, y_zp = int(rng.integers(info.min, info.max)), int(rng.integers(info.min, info.max))
    return x, {
        "x_scale": np.array(x_scale, np.float32),
        "x_zp": np.array(x_zp, case.dtype),
        "w": rng.integers(-64, 64, shape).astype(np.int8),
        "w_scale": w_scale.astype(np.float32),
        "w_zp": np.zeros(case.outputs, np.int8),
        "y_scale": np.array(y_scale, np.float32),
        "y_zp": np.array(y_zp, case.dtype),
        "bias": rng.integers(-3000, 3000, case.outputs).astype(np.int32),
    }


@pytest.mark.parametrize("free_scales", [False, True], ids=["powers of two", "free scales"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.name)
def test_qlinear_conv(config: MachineConfig, case: Case, free_scales: bool) -> None:
    x, layer = random_layer(case, free_scales)
    expected = run_node(
        "QLinearConv", x, layer, kernel_shape=case.kernel, strides=case.strides, dilations=case.dilations, pads=case.pads,
        group=case.group,
    )  # fmt: skip
    scale = layer["x_scale"] * layer["w_scale"] / layer["y_scale"]
    shift = 128 if case.dtype is np.uint8 else 0
    result = lower_conv(
        config, case, x, layer["w"], layer["bias"], scale, int(layer["x_zp"]) - shift, int(layer["y_zp"]) - shift
    )
    np.testing.assert_array_equal(result, expected)
    assert np.unique(expected).size > 50


def test_qlinear_conv_of_many_free_scales() -> None:
    """A hundred thousand results on scales that are no powers of two, none different."""
    case = Case("many", 16, 128, (1, 1), size=(28, 28), dtype=np.uint8)
    x, layer = random_layer(case, free_scales=True)
    expected = run_node("QLinearConv", x, layer)
    scale = layer["x_scale"] * layer["w_scale"] / layer["y_scale"]
    result = lower_conv(
        CONFIGS[0], case, x, layer["w"], layer["bias"], scale, int(layer["x_zp"]) - 128, int(layer["y_zp"]) - 128
    )
    assert result.size == 100_352
    assert (result != expected).sum() == 0


def lower_transposed(config: MachineConfig, x: np.ndarray, w: np.ndarray, stride: int, pad: int, size: int) -> np.ndarray:
    """One CONV for each output phase: the output pixels that see the same kernel taps."""
    program = Lowered(config)
    _, channels, height, width = x.shape
    outputs = w.shape[1]
    first = program.load_tensor(x)
    vectors = program.vectors(channels)
    output = program.words((program.vectors(outputs) + config.words_per_chunk) * size * size)
    parameters = pack_records(config, np.zeros(outputs, np.int32), np.ones(outputs))
    program.load_parameters(Buffer.PARAM, parameters)
    for phase_y in range(stride):
        for phase_x in range(stride):
            ky, kx = (np.arange((phase + pad) % stride, w.shape[2], stride)[::-1] for phase in (phase_y, phase_x))
            program.load_parameters(Buffer.WEIGHT, pack_weights(config, w[:, :, ky][:, :, :, kx].transpose(1, 0, 2, 3)))
            # Output pixel q of the phase sees input pixels q + (phase + pad - k) / stride; the largest k comes first.
            back_y, back_x = (int((k[0] - phase - pad) // stride) for k, phase in ((ky, phase_y), (kx, phase_x)))
            crop_y, crop_x = max(0, -back_y), max(0, -back_x)
            program.emit(
                "CONV", i_addr=first + crop_y * width + crop_x, i_off=-max(0, back_y) * width % 2**24, i_ys=width, t_ys=width,
                i_cs=height * width, i_h=height - crop_y, i_w=width - crop_x, pad_t=max(0, back_y), pad_l=max(0, back_x),
                vectors=vectors, s_y=1, s_x=1, d_y=1, d_x=1, k_h=len(ky), k_w=len(kx),
                o_h=len(range(phase_y, size, stride)), o_w=len(range(phase_x, size, stride)), o_xs=stride, o_ys=stride * size,
                o_cs=size * size, o_addr=output + phase_y * size + phase_x, chunks=len(parameters), lo=-128, hi=127,
            )  # fmt: skip
    return program.save_and_run(output, (1, outputs, size, size), np.int8)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.name)
@pytest.mark.parametrize(("kernel", "stride", "pad"), [(2, 2, 0), (4, 2, 1), (3, 2, 1), (5, 3, 0), (3, 1, 2)])
def test_transposed_convolution(config: MachineConfig, kernel: int, stride: int, pad: int) -> None:
    rng = np.random.default_rng(kernel)
    x = rng.integers(-5, 6, (1, 7, 6, 6)).astype(np.int8)
    w = rng.integers(-5, 6, (7, 9, kernel, kernel)).astype(np.int8)
    floats = run_node("ConvTranspose", x.astype(np.float32), {"w": w.astype(np.float32)}, strides=[stride] * 2, pads=[pad] * 4)
    expected = np.clip(floats, -128, 127)
    result = lower_transposed(config, x, w, stride, pad, expected.shape[2])
    np.testing.assert_array_equal(result, expected)
