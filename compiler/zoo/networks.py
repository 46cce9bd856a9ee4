"""The networks by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from onnx import ModelProto

from compiler.zoo.alexnet import alexnet
from compiler.zoo.cells import AMOEBANET_A, NASNET_A, cells_cifar, cells_imagenet, darts_cifar, darts_imagenet
from compiler.zoo.deeplab import deeplab
from compiler.zoo.densenet import densenet
from compiler.zoo.googlenet import googlenet
from compiler.zoo.hrnet import hrnet
from compiler.zoo.inception import inception_v3
from compiler.zoo.inception_resnet import inception_resnet_v2
from compiler.zoo.mobilenet import efficientnet_lite0, mobilenet_v1, mobilenet_v2
from compiler.zoo.nasnet import nasnet_a
from compiler.zoo.randwire import randwire
from compiler.zoo.resnet import resnet18, resnet50, resnet152
from compiler.zoo.squeezenet import squeezenet
from compiler.zoo.unet import unet
from compiler.zoo.vgg import vgg16, vgg19
from compiler.zoo.yolo import yolov3_tiny


def networks() -> dict[str, Callable[..., ModelProto]]:
    """Builders by name; each takes ``batch``, ``size`` (of the square image), ``seed`` and ``classes``, all optional."""
    return {
        "alexnet": alexnet,
        "amoebanet_a": partial(cells_imagenet, "amoebanet_a", AMOEBANET_A, filters=50, repeats=4, stem=32),
        "amoebanet_a_cifar": partial(cells_cifar, "amoebanet_a_cifar", AMOEBANET_A, filters=36, repeats=6, stem=108),
        "darts": darts_imagenet,
        "darts_cifar": darts_cifar,
        "deeplab": deeplab,
        "densenet": densenet,
        "efficientnet_lite0": efficientnet_lite0,
        "googlenet": googlenet,
        "hrnet_w18_small": partial(hrnet, width=16, first=(1, 32), modules=(1, 1, 1), blocks=2, name="hrnet_w18_small"),
        "hrnet_w18_small_v2": partial(hrnet, width=18, first=(2, 64), modules=(1, 3, 2), blocks=2, name="hrnet_w18_small_v2"),
        "hrnet_w32": partial(hrnet, name="hrnet_w32"),
        "inception_resnet_v2": inception_resnet_v2,
        "inception_v3": inception_v3,
        "mobilenet_v1": mobilenet_v1,
        "mobilenet_v2": mobilenet_v2,
        "nasnet_a": nasnet_a,
        "nasnet_a_cifar": partial(cells_cifar, "nasnet_a_cifar", NASNET_A, filters=32, repeats=6, stem=96),
        "nasnet_a_large": partial(nasnet_a, size=331, cells=6, filters=168, stem=96, skip_reduction=True),
        "randwire0": randwire,
        "randwire1": partial(randwire, wiring=1),
        "randwire2": partial(randwire, wiring=2),
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
