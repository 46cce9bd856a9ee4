"""The table of networks on the first page: ``python -m bench.first_page [--config NAME] [NETWORK ...]``.

Each network is compiled as ``tilewright compile`` does by default, and run on the functional simulator. A row has the figures
of the summary, at the assumed clock. Its last cell counts the elements of the outputs that differ from onnxruntime's. Rows go
into README.md.

Trained networks come from the demo and from ``../shared/models``, which may be missing. All but the demo are calibrated with
noise, which changes neither cycles nor what is compared.
"""

from __future__ import annotations

import warnings
from typing import Any

import tilewright as tw
from bench.command import command
from bench.network_table import put_row
from bench.networks import ROOT, sources
from compiler.quantise.statistics import CalibrationWarning
from compiler.zoo.exports import exports

TITLE, PAGE = "Networks", ROOT / "README.md"
COLUMNS = ("network", "weights", "MACs", "cycles", "ms", "inferences/s", "MACs on the machine", "elements that differ")
TRAINED = {
    "digits": "digits",
    "DS-CNN, key words": "kws_dscnn_float",
    "ResNet-8, CIFAR-10": "resnet8_float",
    "MobileNetV1 0.25, persons": "vww_mobilenet_float",
    "BlazeFace, faces": "trained/face_detection_short_range.tflite",
    "PP-OCRv4, text": "trained/ch_PP-OCRv4_det_infer.onnx",
}
SHAPES = {"PP-OCRv4, text": {"x": (1, 3, 320, 320)}}
RANDOM = {
    "SqueezeNet 1.1": "squeezenet",
    "MobileNetV2": "mobilenet_v2",
    "EfficientNet-B0": "efficientnet_b0",
    "GoogLeNet": "googlenet",
    "ResNet-50": "resnet50",
    "U-Net": "unet",
}


def model_of(name: str) -> Any:
    """The path of a model, or a model that the zoo makes."""
    key = (TRAINED | RANDOM)[name]
    if key.startswith("trained/"):
        return next((p / "shared" / "models" / key for p in ROOT.parents if (p / "shared" / "models").is_dir()), ROOT / key)
    found = {**exports(), **sources()}
    return found[key]() if key in found else ROOT / key


def row_of(name: str, config: str) -> list[str]:
    calibration = ROOT / "demo" / "digits_calibration.npz" if name == "digits" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        compiled = tw.compile(model_of(name), config, calibration=calibration, shapes=SHAPES.get(name))
    summary, found = compiled.summary, compiled.check().tensors
    differ, elements = sum(row.differ for row in found), sum(row.elements for row in found)
    ms, rate = ("-", "-") if summary.ms is None else (f"{summary.ms:.3g}", f"{summary.inferences_per_second:,.0f}")
    return [
        name, "trained" if name in TRAINED else "random", f"{summary.macs / 1e6:,.1f} M", f"{summary.cycles:,}", ms, rate,
        f"{summary.macs_on_machine / max(summary.macs, 1):.1%}", f"{differ:,} of {elements:,}",
    ]  # fmt: skip


def main() -> None:
    parser = command("first_page", __doc__)
    parser.add_argument("--config", default="base")
    parser.add_argument("networks", metavar="NETWORK", nargs="*", default=[*TRAINED, *RANDOM], help="as the table names it")
    given = parser.parse_args()
    for name in given.networks:
        row = row_of(name, given.config)
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 2, PAGE)


if __name__ == "__main__":
    main()
