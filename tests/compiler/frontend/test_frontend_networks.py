"""Whole topologies with random weights: every tensor equal, and only what no unit computes on the CPU."""

from __future__ import annotations

import pytest

from compiler.zoo.light import light_model
from compiler.zoo.networks import networks
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_light_networks_agree_in_every_bit(name: str) -> None:
    found = imported(light_model(name))
    check_exact(found, seeds=1)
    assert host_operators(found) <= {"Softmax", "Reshape"}


@pytest.mark.parametrize(
    ("name", "host"), [("inception_v1", {"LRN", "Softmax"}), ("resnet50", {"Softmax"}), ("densenet121", set())]
)
def test_larger_light_networks_leave_little_to_the_cpu(name: str, host: set[str]) -> None:
    assert host_operators(imported(light_model(name))) == host


@pytest.mark.parametrize(
    "name", ["mobilenet_v2", "efficientnet_lite0", "yolov3_tiny", "unet", "unet_resize", "resnet18", "deeplab"]
)
def test_small_networks_agree_in_every_bit(name: str) -> None:
    """At a quarter of their size; the last resize of the dilated network, by 8, is the CPU's."""
    found = imported(networks()[name](size=64))
    check_exact(found, seeds=1)
    assert host_operators(found) <= ({"Resize"} if name == "deeplab" else set())
