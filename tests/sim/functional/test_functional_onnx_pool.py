"""POOL and MISC against onnxruntime: equal in every bit for power-of-two scales, nearly always for others."""

from __future__ import annotations

import numpy as np
import pytest

from isa.config import MachineConfig
from isa.instructions import Activation, Buffer, MiscMode, PoolMode
from tests.sim.functional.lowering import CONFIGS, Lowered, records
from tests.sim.functional.onnx_models import run_node

CHANNELS, SIZE = 11, 13
DTYPES = [np.int8, np.uint8]
POWERS_OF_TWO = (0.5, 0.125, 0.25)
FREE = (0.0371, 0.0593, 0.0219)

configs = pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.name)
dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=["int8", "uint8"])


def on_chip(zero_point: int, dtype: type) -> int:
    """The zero-point of the int8 form of the tensor."""
    return zero_point - 128 if dtype is np.uint8 else zero_point


def random_tensor(dtype: type, seed: int, channels: int = CHANNELS, size: int = SIZE) -> np.ndarray:
    info = np.iinfo(dtype)
    tensor: np.ndarray = np.random.default_rng(seed).integers(info.min, info.max + 1, (1, channels, size, size)).astype(dtype)
    return tensor


def quantisation(names: str, scales: tuple[float, ...], zero_points: tuple[int, ...], dtype: type) -> dict[str, np.ndarray]:
    """``a_scale``, ``a_zp``, ... for each name."""
    constants: dict[str, np.ndarray] = {}
    for name, scale, zero_point in zip(names, scales, zero_points, strict=True):
        constants |= {f"{name}_scale": np.array(scale, np.float32), f"{name}_zp": np.array(zero_point, dtype)}
    return constants


def assert_nearly_always_equal(result: np.ndarray, expected: np.ndarray) -> None:
    """At most one element in ten thousand differs, and by no more than 1."""
    difference = np.abs(result.astype(np.int32) - expected.astype(np.int32))
    assert difference.max() <= 1
    assert (difference > 0).sum() * 10_000 <= difference.size


def lower_pool(config: MachineConfig, x: np.ndarray, kernel: tuple[int, int], stride: int, pads: tuple[int, int, int, int],
               parameters: np.ndarray | None = None, taps: np.ndarray | None = None, **fields: int) -> np.ndarray:  # fmt: skip
    """``parameters``: words of requantisation records; ``taps``: tap words."""
    program = Lowered(config)
    _, channels, height, width = x.shape
    o_h = (height + pads[0] + pads[2] - kernel[0]) // stride + 1
    o_w = (width + pads[1] + pads[3] - kernel[1]) // stride + 1
    first = program.load_tensor(x)
    if parameters is not None:
        program.load_parameters(Buffer.POOL_PARAM, parameters)
    if taps is not None:
        program.load_parameters(Buffer.TAPS, taps.view(np.uint8))
    output = program.words(program.vectors(channels) * o_h * o_w)
    program.emit(
        "POOL", i_addr=first, i_off=-pads[0] * width % 2**24, i_ys=stride * width, t_ys=width, i_cs=height * width,
        i_h=height, i_w=width, pad_t=pads[0], pad_l=pads[1], vectors=program.vectors(channels), s_y=stride, s_x=stride,
        d_y=1, d_x=1, k_h=kernel[0], k_w=kernel[1], o_h=o_h, o_w=o_w, o_xs=1, o_ys=o_w, o_cs=o_h * o_w, o_addr=output,
        **{"lo": -128, "hi": 127, **fields},
    )  # fmt: skip
    return program.save_and_run(output, (1, channels, o_h, o_w), x.dtype.type)


@configs
@dtypes
@pytest.mark.parametrize(
    ("kernel", "stride", "pads"), [((2, 2), 2, (0, 0, 0, 0)), ((3, 3), 2, (1, 0, 1, 2)), ((3, 2), 1, (2, 1, 0, 0))]
)
def test_max_pool(
    config: MachineConfig, dtype: type, kernel: tuple[int, int], stride: int, pads: tuple[int, int, int, int]
) -> None:
    x = random_tensor(dtype, 1)
    expected = run_node("MaxPool", x, {}, kernel_shape=kernel, strides=[stride] * 2, pads=pads)
    np.testing.assert_array_equal(lower_pool(config, x, kernel, stride, pads, mode=PoolMode.MAX, pad_value=-128), expected)


AVERAGES = [((2, 2), 2, (0, 0, 0, 0)), ((3, 3), 1, (1, 1, 1, 1)), ((3, 2), 2, (1, 0, 0, 1)), ((4, 3), 2, (2, 1, 2, 1))]


def average_parameters(config: MachineConfig, taps: int, by_count: bool, ratio: float, x_zp: int) -> np.ndarray:
    """One record for each count of taps; without ``by_count`` all taps always count."""
    counts = np.maximum(np.arange(taps + 1), 1) if by_count else np.array([taps])
    scale = np.float32(ratio) / counts.astype(np.float32)
    lanes = (len(counts), config.ic_p)
    return records(np.broadcast_to((-counts * x_zp)[:, None], lanes), np.broadcast_to(scale[:, None], lanes))


@configs
@dtypes
@pytest.mark.parametrize("include", [False, True], ids=["inside only", "padding counts"])
@pytest.mark.parametrize(("kernel", "stride", "pads"), AVERAGES)
def test_average_pool(
    config: MachineConfig, dtype: type, include: bool, kernel: tuple[int, int], stride: int, pads: tuple[int, int, int, int]
) -> None:
    x = random_tensor(dtype, 2)
    centre = 128 if dtype is np.uint8 else 0
    constants = quantisation("xy", (0.25, 0.25), (centre, centre), dtype)
    expected = run_node(
        "QLinearAveragePool", x, constants, domain="com.microsoft", kernel_shape=kernel, strides=[stride] * 2, pads=pads,
        count_include_pad=int(include),
    )  # fmt: skip
    parameters = average_parameters(config, kernel[0] * kernel[1], not include, 1.0, 0)
    result = lower_pool(config, x, kernel, stride, pads, parameters, mode=PoolMode.AVERAGE, by_count=int(not include))
    np.testing.assert_array_equal(result, expected)


@configs
@dtypes
def test_average_pool_of_free_scales(config: MachineConfig, dtype: type) -> None:
    x = random_tensor(dtype, 3, channels=80)
    zero_points = (3, 3) if dtype is np.int8 else (131, 131)
    constants = quantisation("xy", FREE[:2], zero_points, dtype)
    expected = run_node(
        "QLinearAveragePool", x, constants, domain="com.microsoft", kernel_shape=(3, 3), pads=(1, 1, 1, 1), strides=(1, 1)
    )
    parameters = average_parameters(config, 9, True, FREE[0] / FREE[1], 3)
    result = lower_pool(config, x, (3, 3), 1, (1, 1, 1, 1), parameters, mode=PoolMode.AVERAGE, by_count=1, zp=3)
    assert_nearly_always_equal(result, expected)


@configs
@dtypes
@pytest.mark.parametrize("scales", [POWERS_OF_TWO, FREE], ids=["powers of two", "free scales"])
def test_global_average_pool(config: MachineConfig, dtype: type, scales: tuple[float, ...]) -> None:
    x = random_tensor(dtype, 4, channels=70, size=7) // 2
    x_zp, y_zp = (5, -9) if dtype is np.int8 else (133, 119)
    expected = run_node(
        "QLinearGlobalAveragePool", x, quantisation("xy", scales[:2], (x_zp, y_zp), dtype), domain="com.microsoft"
    )
    scale = np.float32(scales[0]) / (np.float32(scales[1]) * np.float32(49))
    zero_point = on_chip(x_zp, dtype)
    parameters = records(np.full((1, config.ic_p), -49 * zero_point), np.full((1, config.ic_p), scale))
    result = lower_pool(config, x, (7, 7), 1, (0, 0, 0, 0), parameters, mode=PoolMode.AVERAGE, zp=on_chip(y_zp, dtype))
    np.testing.assert_array_equal(result, expected)


@configs
@dtypes
@pytest.mark.parametrize("free_scales", [False, True], ids=["powers of two", "free scales"])
def test_depthwise_convolution(config: MachineConfig, dtype: type, free_scales: bool) -> None:
    """Weights of 7 bits, as in the tests of CONV."""
    rng = np.random.default_rng(11)
    x = random_tensor(dtype, 12)
    weights = rng.integers(-64, 64, (CHANNELS, 1, 3, 3)).astype(np.int8)
    w_scale = (2.0 ** rng.integers(-8, -5, CHANNELS) * (rng.uniform(0.5, 1, CHANNELS) if free_scales else 1)).astype(np.float32)
    zero_points = (3, -6) if dtype is np.int8 else (131, 122)
    quantised = quantisation("xy", FREE[:2] if free_scales else POWERS_OF_TWO[:2], zero_points, dtype)
    constants = quantised | {"w": weights, "w_scale": w_scale, "w_zp": np.zeros(CHANNELS, np.int8)}
    names = "x x_scale x_zp w w_scale w_zp y_scale y_zp"
    expected = run_node("QLinearConv", x, constants, names=names, group=CHANNELS, pads=(1, 1, 1, 1), strides=(2, 2))

    x_zp, y_zp = (on_chip(zero_point, dtype) for zero_point in zero_points)
    vectors = -(-CHANNELS // config.ic_p)
    taps = np.zeros((vectors * config.ic_p, 9), np.int8)
    taps[:CHANNELS] = weights.reshape(CHANNELS, 9)
    scale = np.ones(vectors * config.ic_p, np.float32)
    scale[:CHANNELS] = quantised["x_scale"] * w_scale / quantised["y_scale"]
    bias = -x_zp * taps.astype(np.int32).sum(axis=1)
    result = lower_pool(
        config, x, (3, 3), 2, (1, 1, 1, 1), records(bias.reshape(vectors, -1), scale.reshape(vectors, -1)),
        taps.reshape(vectors, config.ic_p, 9).transpose(0, 2, 1).reshape(vectors * 9, config.ic_p),
        mode=PoolMode.DEPTHWISE, t_step=9, p_step=1, pad_value=x_zp, zp=y_zp,
    )  # fmt: skip
    np.testing.assert_array_equal(result, expected)


def lower_misc(
    config: MachineConfig, operands: list[np.ndarray], fields: dict[str, int], table: np.ndarray | None = None
) -> np.ndarray:
    program = Lowered(config)
    _, channels, height, width = operands[0].shape
    addresses = [program.load_tensor(x) for x in operands]
    if table is not None:
        program.load_parameters(Buffer.TABLE, table.view(np.uint8)[None])
        fields = fields | {"act": Activation.TABLE}
    output = program.words(program.vectors(channels) * height * width)
    loops = {f"n{loop}": 1 for loop in range(3)} | {"n3": program.vectors(channels), "n4": height * width}
    strides = {f"{letter}_s{loop}": stride for letter in "abo" for loop, stride in ((3, height * width), (4, 1))}
    placed = {f"{letter}_addr": address for letter, address in zip("ab", addresses, strict=False)} | {"o_addr": output}
    program.emit("MISC", **{**loops, **strides, **placed, "lo": -128, "hi": 127, **fields})
    return program.save_and_run(output, operands[0].shape, operands[0].dtype.type)


def constant_fields(value: int) -> dict[str, int]:
    return {"c_lo": value % 2**32, "c_hi": value >> 32}


@configs
@dtypes
@pytest.mark.parametrize("scales", [POWERS_OF_TWO, FREE], ids=["powers of two", "free scales"])
def test_add(config: MachineConfig, dtype: type, scales: tuple[float, ...]) -> None:
    """onnxruntime adds the output's zero-point before it rounds."""
    a, b = random_tensor(dtype, 5, 20), random_tensor(dtype, 6, 20)
    zero_points = (3, -6, 1) if dtype is np.int8 else (131, 122, 129)
    constants = {"b": b} | quantisation("abc", scales, zero_points, dtype)
    expected = run_node("QLinearAdd", a, constants, domain="com.microsoft", names="x a_scale a_zp b b_scale b_zp c_scale c_zp")
    a_zp, b_zp, c_zp = (on_chip(zero_point, dtype) for zero_point in zero_points)
    shift = 22
    m_a, m_b = (round(float(np.float32(scale)) / float(np.float32(scales[2])) * 2**shift) for scale in scales[:2])
    constant = (c_zp << shift) - a_zp * m_a - b_zp * m_b
    fields = {"mode": MiscMode.ADD, "m_a": m_a, "m_b": m_b, "shift": shift}
    result = lower_misc(config, [a, b], fields | constant_fields(constant))
    if scales is POWERS_OF_TWO:
        np.testing.assert_array_equal(result, expected)
    else:
        assert_nearly_always_equal(result, expected)


@configs
@dtypes
@pytest.mark.parametrize("scales", [(0.125, 0.125, 0.25), FREE], ids=["powers of two", "free scales"])
def test_mul(config: MachineConfig, dtype: type, scales: tuple[float, ...]) -> None:
    a, b = random_tensor(dtype, 7, 20), random_tensor(dtype, 8, 20)
    zero_points = (3, -6, 1) if dtype is np.int8 else (131, 122, 129)
    constants = {"b": b} | quantisation("abc", scales, zero_points, dtype)
    expected = run_node("QLinearMul", a, constants, domain="com.microsoft", names="x a_scale a_zp b b_scale b_zp c_scale c_zp")
    a_zp, b_zp, c_zp = (on_chip(zero_point, dtype) for zero_point in zero_points)
    shift = 27
    factor = round(float(np.float32(scales[0]) * np.float32(scales[1]) / np.float32(scales[2])) * 2**shift)
    fields = {"mode": MiscMode.MUL, "a_zp": a_zp, "b_zp": b_zp, "m_a": factor, "shift": shift}
    result = lower_misc(config, [a, b], fields | constant_fields(c_zp << shift))
    if scales is FREE:
        assert_nearly_always_equal(result, expected)
    else:
        np.testing.assert_array_equal(result, expected)


@configs
@dtypes
def test_leaky_relu_as_a_table(config: MachineConfig, dtype: type) -> None:
    x = random_tensor(dtype, 9)
    zero_points = (3, -6) if dtype is np.int8 else (131, 122)
    constants = quantisation("xy", FREE[:2], zero_points, dtype)
    expected = run_node("QLinearLeakyRelu", x, constants, domain="com.microsoft", alpha=0.1)
    x_zp, y_zp = (on_chip(zero_point, dtype) for zero_point in zero_points)
    value = (np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float32) - np.float32(x_zp)) * np.float32(FREE[0])
    value = np.where(value < 0, value * np.float32(0.1), value)
    table = np.clip(np.rint(value / np.float32(FREE[1])) + y_zp, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(lower_misc(config, [x], {"mode": MiscMode.PASS, "m_a": 1}, table), expected)
