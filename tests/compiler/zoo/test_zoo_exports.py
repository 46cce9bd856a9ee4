"""Networks as PyTorch exports them: valid, whole in their products on the machine, and in few segments.

At reduced size here, those that no other test of the zoo runs; ``python -m bench.exports`` has the table of the whole ones.
"""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from bench.exports import macs_of, segments_of
from compiler.driver import compile_graph
from compiler.planning.grouping import machine_ops
from compiler.zoo.convnext import layer_norms
from compiler.zoo.exports import DYNAMO, FORMS, TORCHSCRIPT, exports
from compiler.zoo.networks import networks
from compiler.zoo.squeeze import V2_S
from isa.config import preset
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported
from tests.compiler.zoo.model_runs import root_mean_squares, run_all

REDUCED: dict[str, dict[str, Any]] = {
    "bert_tiny": {"size": 6, "width": 16, "depth": 1, "words": 20},
    "conformer_s": {"size": 24, "bands": 12, "width": 8, "depth": 1, "heads": 2, "classes": 6},
    "convmixer": {"size": 49, "width": 32, "depth": 2},
    "convnext_tiny": {"size": 64, "widths": (16, 32, 48, 64), "depths": (1, 1, 2, 1)},
    "deeplabv3_resnet50": {"size": 32, "blocks": (1, 1, 1, 1)},
    "deit_tiny": {"size": 64, "width": 48, "depth": 2},
    "densenet121": {"size": 64, "blocks": (2, 3, 2, 2)},
    "efficientnet_b0": {"size": 32},
    "efficientnet_v2_s": {"size": 32, "stages": tuple((t, c, 1, s, f) for t, c, _, s, f in V2_S)},
    "efficientvit_b0": {"size": 64, "widths": (8, 8, 8, 16), "depths": (1, 1, 1, 1), "classes": 3},
    "efficientvit_m0": {"size": 64, "widths": (16,), "depths": (1,), "window": 2, "classes": 3},
    "espcn": {"size": 12},
    "fcn_resnet50": {"size": 32, "blocks": (1, 1, 1, 1)},
    "ghostnet": {"size": 32},
    "levit_128s": {"size": 64, "widths": (32, 48), "heads": (2, 3), "depths": (1, 1), "classes": 3},
    "lraspp_mobilenet_v3": {"size": 32},
    "mixer_s16": {"size": 64, "width": 32, "depth": 2},
    "mobilebert": {"size": 5, "width": 16, "inner": 8, "depth": 1, "heads": 2, "words": 20, "feeds": 1},
    "mnasnet": {"size": 32},
    "mobilenet_v3_large": {"size": 32},
    "mobilenet_v3_small": {"size": 32},
    "mobilevit_s": {"size": 32, "stages": ((8, 1, 2, 16, 1),), "stem": 8, "last": 16, "classes": 3},
    "regnet_x_400mf": {"size": 32, "depths": (1, 1, 1, 1)},
    "regnet_y_400mf": {"size": 32, "depths": (1, 1, 1, 1), "seed": 1},
    "repvgg_a0": {"size": 32, "classes": 10},
    "resnext50": {"size": 32, "blocks": (1, 1, 1, 1)},
    "shufflenet_v2": {"size": 64, "widths": (24, 48, 96), "repeats": (2, 2, 2)},
    "ssdlite": {"size": 64, "classes": 3},
    "swin_tiny": {"size": 112, "width": 32, "depths": (2, 2)},
    "vit_tiny": {"size": 64, "width": 48, "depth": 2},
    "wide_resnet50": {"size": 32, "blocks": (1, 1, 1, 1), "classes": 10},
    "yolov5n": {"size": 64},
    "yolov8n": {"size": 64},
}
ELSEWHERE = {
    "alexnet", "efficientnet_lite0", "googlenet", "hrnet_w18_small", "inception_v3", "mobilenet_v1", "mobilenet_v2",
    "resnet18", "resnet50", "squeezenet", "unet", "unet_resize", "vgg16", "yolov3_tiny",
}  # fmt: skip
IN_PARTS = {
    "bert_tiny", "conformer_s", "convnext_tiny", "deit_tiny", "efficientvit_b0", "efficientvit_m0", "levit_128s", "mixer_s16",
    "mobilebert", "mobilevit_s", "shufflenet_v2", "ssdlite", "swin_tiny", "vit_tiny", "yolov5n", "yolov8n",
}  # fmt: skip
"""With nodes on the CPU: normalisation over features, attention, decoding of boxes, the last shuffle of ShuffleNet."""
OF_WORDS = {"bert_tiny", "mobilebert"}
"""Their inputs are numbers of words, and a mask."""
MOST_SEGMENTS = {"convnext_tiny": layer_norms((1, 1, 2, 1)) + 2, "shufflenet_v2": 1, "ssdlite": 1, "yolov5n": 1, "yolov8n": 2}
OTHERWISE_BY_DYNAMO = ("convmixer", "convnext_tiny", "mixer_s16", "mobilenet_v3_small", "shufflenet_v2", "swin_tiny")
"""Global pools as means, GELU in one node; the other networks have no more than one of these."""


def test_every_export_is_tested() -> None:
    assert set(REDUCED) | ELSEWHERE == set(exports())
    assert set(networks()) >= ELSEWHERE


@pytest.mark.parametrize("name", [name for name in REDUCED if name not in OF_WORDS])
def test_values_stay_in_range(name: str) -> None:
    """Shares of attention and of gates are small by nature, places in an image and masks large."""
    model = exports()[name](**REDUCED[name])
    onnx.checker.check_model(model, full_check=True)
    levels = root_mean_squares(run_all(model))
    assert min(levels.values()) > 0.01
    assert max(levels.values()) < (200 if name.startswith(("swin", "yolo")) else 16)


def test_both_forms_compute_the_same() -> None:
    """What is rewritten, in one network that has all of it."""
    first, second = (exports(form)["convnext_tiny"](**REDUCED["convnext_tiny"]) for form in FORMS)
    onnx.checker.check_model(second, full_check=True)
    kinds = {node.op_type for node in second.graph.node}
    assert kinds >= {"Gelu", "ReduceMean"}
    assert not kinds & {"Erf", "GlobalAveragePool", "Flatten"}
    expected, found = (run_all(model)["logits"] for model in (first, second))
    assert abs(expected - found).max() < 1e-4


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, TORCHSCRIPT) for name in REDUCED),
        *(pytest.param(name, DYNAMO, marks=pytest.mark.slow) for name in OTHERWISE_BY_DYNAMO),
    ],
)
def test_products_are_on_the_machine_in_few_segments_and_exact(name: str, form: str) -> None:
    found = imported(exports(form)[name](**REDUCED[name]))
    total, kept = macs_of(found)
    assert kept == total > 0
    if name not in IN_PARTS:
        assert not host_operators(found)
    if name in MOST_SEGMENTS:
        assert segments_of(compile_graph(found, preset("base"), strategy="naive")) <= MOST_SEGMENTS[name]
    check_exact(found, seeds=1)


def test_features_of_a_dense_block_lie_in_place() -> None:
    """Each layer joins all features anew; none is copied."""
    found = imported(exports()["densenet121"](**REDUCED["densenet121"]))
    assert not [op.name for op in machine_ops(found.graph) if "/copy" in op.name]
