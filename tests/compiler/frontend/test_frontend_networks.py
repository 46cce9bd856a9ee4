"""Whole topologies with random weights: every tensor equal, and only what no unit computes on the CPU."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.zoo.light import light_model
from compiler.zoo.networks import networks
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported
from tests.tables import one_in


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_light_networks_agree_in_every_bit(name: str) -> None:
    found = imported(light_model(name))
    check_exact(found, seeds=1)
    assert host_operators(found) <= {"Softmax", "Reshape"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "host"), [("inception_v1", {"LRN", "Softmax"}), ("resnet50", {"Softmax"}), ("densenet121", set())]
)
def test_larger_light_networks_leave_little_to_the_cpu(name: str, host: set[str]) -> None:
    assert host_operators(imported(light_model(name))) == host


@pytest.mark.parametrize(
    "name", one_in(3, ["mobilenet_v2", "efficientnet_lite0", "yolov3_tiny", "unet_resize", "unet", "resnet18", "deeplab"])
)
def test_small_networks_agree_in_every_bit(name: str) -> None:
    """At an eighth of their size; the dilated network at a quarter, whose last resize, by 8, is the CPU's."""
    found = imported(networks()[name](size=64 if name in ("deeplab", "unet_resize") else 32))
    check_exact(found, seeds=1)
    assert host_operators(found) <= ({"Resize"} if name == "deeplab" else set())


SEARCHED: dict[str, dict[str, Any]] = {
    "amoebanet_a": {"size": 64, "repeats": 1, "filters": 8, "stem": 8},
    "amoebanet_a_cifar": {"size": 16, "repeats": 1, "filters": 8, "stem": 24},
    "darts": {"size": 64, "layers": 5, "filters": 8},
    "darts_cifar": {"size": 16, "layers": 5, "filters": 8},
    "hrnet_w18_small": {"size": 32},
    "hrnet_w18_small_v2": {"size": 32, "modules": (1, 1, 1)},
    "hrnet_w32": {"size": 32, "width": 16, "first": (1, 16), "modules": (1, 1, 1), "blocks": 1},
    "inception_resnet_v2": {"size": 75, "repeats": (1, 1, 1)},
    "nasnet_a": {"size": 32, "cells": 1, "filters": 12, "stem": 8},
    "nasnet_a_cifar": {"size": 16, "repeats": 1, "filters": 8, "stem": 24},
    "randwire0": {"size": 64, "channels": 16, "nodes": 12},
    "randwire1": {"size": 32, "channels": 16, "nodes": 12},
    "randwire2": {"size": 32, "channels": 16, "nodes": 16},
}
QUICK = ("amoebanet_a_cifar", "nasnet_a_cifar", "randwire2")
"""The others have the same layers as one of these, or as one of tests/e2e/test_random_networks.py."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SEARCHED]
)
def test_networks_of_many_branches_agree_in_every_bit_and_run_on_the_machine_alone(name: str) -> None:
    found = imported(networks()[name](**SEARCHED[name], classes=10))
    check_exact(found, seeds=1)
    assert host_operators(found) == set()
