"""The networks by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from onnx import ModelProto

from compiler.zoo.alexnet import alexnet
from compiler.zoo.deeplab import deeplab
from compiler.zoo.densenet import densenet
from compiler.zoo.googlenet import googlenet
from compiler.zoo.mobilenet import efficientnet_lite0, mobilenet_v1, mobilenet_v2
from compiler.zoo.nasnet import nasnet_a
from compiler.zoo.resnet import resnet18, resnet50, resnet152
from compiler.zoo.squeezenet import squeezenet
from compiler.zoo.unet import unet
from compiler.zoo.vgg import vgg16, vgg19
from compiler.zoo.yolo import yolov3_tiny


def networks() -> dict[str, Callable[..., ModelProto]]:
    """Builders by name; each takes ``batch``, ``size`` (of the square image), ``seed`` and ``classes``, all optional."""
    return {
        "alexnet": alexnet,
        "deeplab": deeplab,
        "densenet": densenet,
        "efficientnet_lite0": efficientnet_lite0,
        "googlenet": googlenet,
        "mobilenet_v1": mobilenet_v1,
        "mobilenet_v2": mobilenet_v2,
        "nasnet_a": nasnet_a,
        "nasnet_a_large": partial(nasnet_a, size=331, cells=6, filters=168, stem=96, skip_reduction=True),
        "resnet18": resnet18,
        "resnet50": resnet50,
        "resnet50_v1": partial(resnet50, v1=True),
        "resnet152": resnet152,
        "resnet152_v1": partial(resnet152, v1=True),
        "squeezenet": squeezenet,
        "unet": unet,
        "unet_resize": partial(unet, resize=True),
        "vgg16": vgg16,
        "vgg16_convolutions": partial(vgg16, dense=False),
        "vgg19": vgg19,
        "vgg19_convolutions": partial(vgg19, dense=False),
        "yolov3_tiny": yolov3_tiny,
    }
