"""Words of a second, from sound to answer: a small network trained on the spot, its answers in float and on the machine."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

RATE, FRAMES, BANDS, CHANNELS = 8_000, 48, 40, 24
WORDS = {"up": (300, 900), "down": (900, 300), "high": (900, 900), "low": (300, 300)}
"""From which pitch to which each word goes."""
rng = np.random.default_rng(0)


def spoken(word: str) -> np.ndarray:
    """A second of sound: a voice of some pitch, begun at some time, with noise."""
    start, end = (pitch * rng.uniform(0.85, 1.15) for pitch in WORDS[word])
    length = int(RATE * rng.uniform(0.5, 0.8))
    phase = 2 * np.pi * np.cumsum(np.linspace(start, end, length)) / RATE
    voice = sum(np.sin(harmonic * phase) / harmonic for harmonic in (1, 2, 3))
    sound = rng.normal(0, 1.0, RATE)
    begin = rng.integers(RATE - length)
    sound[begin : begin + length] += voice
    return sound


def spectrogram(sound: np.ndarray) -> np.ndarray:
    """Loudness by frame and band of pitch, in the shape of an image with one channel."""
    frames = np.stack([sound[n : n + 320] for n in np.linspace(0, RATE - 320, FRAMES).astype(int)]) * np.hanning(320)
    return np.log1p(np.abs(np.fft.rfft(frames)[:, :BANDS])).astype(np.float32)[None]


def network(last: np.ndarray, bias: np.ndarray) -> onnx.ModelProto:
    """Three convolutions, the second depthwise, the mean over the image, a dense layer."""
    fixed = np.random.default_rng(1)
    shapes = {"w1": (CHANNELS, 1, 5, 5), "w2": (CHANNELS, 1, 3, 3), "w3": (2 * CHANNELS, CHANNELS, 1, 1)}
    weights = {name: fixed.normal(0, np.prod(shape[1:]) ** -0.5, shape) for name, shape in shapes.items()}
    weights |= {"w4": last, "b4": bias}
    nodes = [
        helper.make_node("Conv", ["sound", "w1"], ["a"], "conv", pads=[2] * 4, strides=[2, 2]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], "depthwise", pads=[1] * 4, group=CHANNELS, strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "w3"], ["e"], "pointwise"),
        helper.make_node("Relu", ["e"], ["f"]),
        helper.make_node("AveragePool", ["f"], ["g"], "mean", kernel_shape=[FRAMES // 4, 2], strides=[FRAMES // 4, 2]),
        helper.make_node("Flatten", ["g"], ["features"]),
        helper.make_node("Gemm", ["features", "w4", "b4"], ["scores"], "dense"),
    ]
    graph = helper.make_graph(
        nodes, "words", [helper.make_tensor_value_info("sound", TensorProto.FLOAT, ("n", 1, FRAMES, BANDS))],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ("n", len(WORDS)))],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def answers(model: onnx.ModelProto, sounds: np.ndarray) -> np.ndarray:
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"sound": sounds})[0]


def trained(sounds: np.ndarray, labels: np.ndarray) -> onnx.ModelProto:
    """Convolutions stay as they were drawn; the dense layer is the least-squares fit of the labels to what they make."""
    count = 2 * CHANNELS * (BANDS // 4 // 2)
    some = np.eye(count).reshape(-1, len(WORDS), count).swapaxes(1, 2)
    features = np.concatenate([answers(network(part, np.zeros(len(WORDS))), sounds) for part in some], 1)
    rows = np.concatenate([features, np.ones((len(features), 1))], 1)
    fit = np.linalg.solve(rows.T @ rows + np.eye(count + 1), rows.T @ np.eye(len(WORDS))[labels])
    return network(fit[:-1], fit[-1])


labels = np.arange(300) % len(WORDS)
sounds = np.stack([spectrogram(spoken(list(WORDS)[label])) for label in labels])
model = trained(sounds[:220], labels[:220])
compiled = tw.compile(model, "nano", calibration=sounds[:16], batch=1)
session = tw.Session(compiled)
right = answers(model, sounds[220:]).argmax(1) == labels[220:]
ours = np.array([session.run(None, {"sound": sound[None]})[0].argmax() for sound in sounds[220:]]) == labels[220:]
print(f"right: {right.sum()} of {len(right)} in float, {ours.sum()} on the machine")
print("onnxruntime:", compiled.check(sounds[:1]))
print(f"{compiled.summary.cycles:,} cycles on nano")
