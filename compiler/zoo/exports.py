"""Current networks in the form in which PyTorch exports them, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from onnx import ModelProto

from compiler.zoo.convnext import convnext
from compiler.zoo.densenet import densenet
from compiler.zoo.shufflenet import shufflenet_v2
from compiler.zoo.squeeze import efficientnet_b0, mobilenet_v3
from compiler.zoo.swin import swin
from compiler.zoo.vit import mixer, vit


def exports() -> dict[str, Callable[..., ModelProto]]:
    """Builders by name; each takes ``batch``, ``size`` (of the square image), ``seed`` and ``classes``, all optional."""
    return {
        "convnext_tiny": convnext,
        "densenet121": partial(densenet, flat=True),
        "efficientnet_b0": efficientnet_b0,
        "mixer_s16": mixer,
        "mobilenet_v3_large": mobilenet_v3,
        "shufflenet_v2": shufflenet_v2,
        "swin_tiny": swin,
        "vit_tiny": vit,
    }
