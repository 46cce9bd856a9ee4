"""Networks with random weights and power-of-two scales, small: every bit as onnxruntime has it.

``make networks`` runs all of them at their full size.
"""

from __future__ import annotations

from typing import Any

import pytest

from compiler.zoo.networks import networks
from tests.e2e.network_runs import compiled, differing
from tests.tables import in_turn

NAIVE: dict[str, dict[str, Any]] = {
    "amoebanet_a": {"size": 32, "repeats": 1, "filters": 8, "stem": 8, "classes": 10},
    "amoebanet_a_cifar": {"size": 16, "repeats": 1, "filters": 8, "stem": 24},
    "darts": {"size": 32, "layers": 5, "filters": 8, "classes": 10},
    "darts_cifar": {"size": 16, "layers": 5, "filters": 8},
    "deeplab": {"size": 32, "width": 16},
    "densenet": {"size": 32, "classes": 10},
    "efficientnet_lite0": {"size": 40, "classes": 10},
    "googlenet": {"size": 32, "classes": 10},
    "hrnet_w18_small_v2": {"size": 32, "modules": (1, 1, 1), "classes": 10},
    "hrnet_w32": {"size": 32, "width": 16, "first": (1, 16), "modules": (1, 1, 1), "blocks": 1, "classes": 10},
    "inception_resnet_v2": {"size": 75, "repeats": (1, 1, 1), "classes": 10},
    "mobilenet_v1": {"size": 32, "classes": 10},
    "nasnet_a_large": {"size": 75, "cells": 1, "filters": 24, "classes": 10},
    "randwire0": {"size": 32, "channels": 16, "nodes": 12, "classes": 10},
    "resnet50_v1": {"size": 32, "classes": 10},
    "squeezenet": {"size": 48, "batch": 2, "classes": 10},
    "unet": {"size": 16},
    "unet_resize": {"size": 32},
    "yolov3_tiny": {"size": 64},
}
SEARCHED: dict[str, dict[str, Any]] = {
    "mobilenet_v2": {"size": 32, "classes": 10},
    "resnet18": {"size": 32, "classes": 10},
    "squeezenet": {"size": 64, "classes": 10},
    "unet": {"size": 32},
}
SISTERS = ("amoebanet_a", "darts", "hrnet_w32", "resnet50_v1", "unet_resize")
"""Of the same layers as another one that is here."""
CONFIGS = ("nano", "zu2", "zu9")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SISTERS else name for name in NAIVE]
)
def test_one_operation_per_group_is_onnxruntime_in_every_bit(name: str) -> None:
    assert differing(compiled(networks()[name](**NAIVE[name])).program) == 0


@pytest.mark.parametrize("name", SEARCHED)
def test_fused_groups_are_onnxruntime_in_every_bit(name: str) -> None:
    assert differing(compiled(networks()[name](**SEARCHED[name]), strategy="best").program) == 0


def test_rows_too_wide_for_a_small_machine_run_by_channels() -> None:
    found = compiled(networks()["mobilenet_v2"](size=64, classes=10), "nano")
    assert any(plan.count > 1 for plan in found.plans)
    assert differing(found.program) == 0


@pytest.mark.parametrize(("config", "name"), in_turn(CONFIGS, ["mobilenet_v2", "squeezenet"]))
def test_other_configurations_compute_the_same(name: str, config: str) -> None:
    assert differing(compiled(networks()[name](size=32, classes=10), config).program) == 0
