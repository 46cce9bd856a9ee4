"""Current networks by name, in the forms in which PyTorch exports them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from onnx import ModelProto

from compiler.zoo.alexnet import alexnet
from compiler.zoo.bert import bert, mobilebert
from compiler.zoo.cascaded import cascaded
from compiler.zoo.conformer import conformer
from compiler.zoo.convmixer import convmixer, repvgg
from compiler.zoo.convnext import convnext
from compiler.zoo.densenet import densenet
from compiler.zoo.detection import ssdlite, yolov5n, yolov8n
from compiler.zoo.dynamo import as_dynamo
from compiler.zoo.efficientvit import efficientvit
from compiler.zoo.ghostnet import ghostnet
from compiler.zoo.googlenet import googlenet
from compiler.zoo.hrnet import hrnet
from compiler.zoo.inception import inception_v3
from compiler.zoo.levit import levit
from compiler.zoo.mobilenet import efficientnet_lite0, mnasnet, mobilenet_v1, mobilenet_v2
from compiler.zoo.mobilevit import mobilevit
from compiler.zoo.regnet import regnet_x, regnet_y
from compiler.zoo.resnet import resnet18, resnet50, resnext50, wide_resnet50
from compiler.zoo.segmentation import deeplabv3_resnet50, fcn_resnet50, lraspp_mobilenet_v3
from compiler.zoo.shufflenet import shufflenet_v2
from compiler.zoo.squeeze import efficientnet_b0, efficientnet_v2_s, mobilenet_v3
from compiler.zoo.squeezenet import squeezenet
from compiler.zoo.superres import espcn
from compiler.zoo.swin import swin
from compiler.zoo.unet import unet
from compiler.zoo.vgg import vgg16
from compiler.zoo.vit import mixer, vit
from compiler.zoo.yolo import yolov3_tiny

TORCHSCRIPT = "torchscript"
DYNAMO = "dynamo"
FORMS = (TORCHSCRIPT, DYNAMO)


def exports(form: str = TORCHSCRIPT) -> dict[str, Callable[..., ModelProto]]:
    """The builders by name; each takes ``batch``, ``size`` (of a square image, or of a sentence), ``seed`` and ``classes``."""
    found: dict[str, Callable[..., ModelProto]] = {
        "alexnet": alexnet,
        "bert_tiny": bert,
        "conformer_s": conformer,
        "convmixer": convmixer,
        "convnext_tiny": convnext,
        "deeplabv3_resnet50": deeplabv3_resnet50,
        "deit_tiny": partial(vit, token=True),
        "densenet121": partial(densenet, flat=True),
        "efficientnet_b0": efficientnet_b0,
        "efficientnet_lite0": efficientnet_lite0,
        "efficientnet_v2_s": efficientnet_v2_s,
        "efficientvit_b0": efficientvit,
        "efficientvit_m0": cascaded,
        "espcn": espcn,
        "fcn_resnet50": fcn_resnet50,
        "ghostnet": ghostnet,
        "googlenet": googlenet,
        "hrnet_w18_small": partial(hrnet, width=16, first=(1, 32), modules=(1, 1, 1), blocks=2, name="hrnet_w18_small"),
        "inception_v3": inception_v3,
        "levit_128s": levit,
        "lraspp_mobilenet_v3": lraspp_mobilenet_v3,
        "mixer_s16": mixer,
        "mnasnet": mnasnet,
        "mobilebert": mobilebert,
        "mobilenet_v1": mobilenet_v1,
        "mobilenet_v2": mobilenet_v2,
        "mobilenet_v3_large": mobilenet_v3,
        "mobilenet_v3_small": partial(mobilenet_v3, small=True),
        "mobilevit_s": mobilevit,
        "regnet_x_400mf": regnet_x,
        "regnet_y_400mf": regnet_y,
        "repvgg_a0": repvgg,
        "resnet18": resnet18,
        "resnet50": resnet50,
        "resnext50": resnext50,
        "shufflenet_v2": shufflenet_v2,
        "squeezenet": squeezenet,
        "ssdlite": ssdlite,
        "swin_tiny": swin,
        "unet": unet,
        "unet_resize": partial(unet, resize=True),
        "vgg16": vgg16,
        "vit_tiny": vit,
        "wide_resnet50": wide_resnet50,
        "yolov3_tiny": yolov3_tiny,
        "yolov5n": yolov5n,
        "yolov8n": yolov8n,
    }
    return found if form == TORCHSCRIPT else {name: partial(_by_dynamo, build) for name, build in found.items()}


def _by_dynamo(build: Callable[..., ModelProto], **arguments: Any) -> ModelProto:
    return as_dynamo(build(**arguments))
