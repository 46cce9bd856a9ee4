"""The options of every command that takes a model: how it is quantised, and what its inputs and outputs are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from tilewright.options import seconds_option

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_EIGHT_BITS = click.Choice(["model", "int8", "uint8"])


class NumbersOption(click.ParamType[tuple[float, ...]]):
    """An option of numbers with commas between them."""

    name = "x or x,y,z"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r}: expected one number, or one for each channel, as 123.7,116.3,103.5", param, ctx)


class ShapeOption(click.ParamType[tuple[str, tuple[int, ...]]]):
    """An option with an input's name and its whole shape."""

    name = "name:1x3x480x640"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, tuple[int, ...]]:
        if isinstance(value, tuple):
            return value
        name, _, sizes = str(value).rpartition(":")
        parts = sizes.split("x")
        if not name or not all(part.isdecimal() and int(part) > 0 for part in parts):
            self.fail(f"{value!r}: expected an input's name and its sizes, as image:1x3x480x640", param, ctx)
        return name, tuple(int(part) for part in parts)


class SizeOption(click.ParamType[tuple[int, int]]):
    """An option of one number, or of height and width."""

    name = "n or hxw"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        parts = [str(side) for side in value] if isinstance(value, tuple) else str(value).split("x")
        if len(parts) > 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
            self.fail(f"{value!r}: expected one number, or height and width, as 224 or 480x640", param, ctx)
        return int(parts[0]), int(parts[-1])


class DecibelsOption(click.ParamType[float]):
    """An option of a number with or without its unit, dB."""

    name = "dB"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from compiler.quantise.choices import decibels_of

        return decibels_of(value)


OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--calibrate", type=click.Path(path_type=Path),
        help="NPZ or NumPy file of inputs, or folder of images (with Pillow), for float models.",
    ),
    click.option("--mean", "image_mean", type=NumbersOption(), help="Of images: taken off (pixel / 255).  [default: 0]"),
    click.option("--std", "image_std", type=NumbersOption(), help="Of images: what is left is divided by it.  [default: 1]"),
    click.option("--size", "image_size", type=SizeOption(), help="Of images: height and width.  [default: the model's]"),
    click.option(
        "--scheme", default="free", show_default=True,
        help="Scales of float models: free (of weights for each channel), or power_of_two (DNNVM's, one for each layer).",
    ),
    click.option(
        "--calibration-method", "method", default="measured", show_default=True,
        help="What scales hold of the values seen: minmax, mse, percentile (or percentile:99.9), entropy; or measured.",
    ),
    click.option(
        "--keep-float", multiple=True, metavar="NAME",
        help="Node, or pattern as 'head/*', that stays on the CPU, in float if the model is.",
    ),
    click.option(
        "--accuracy", type=DecibelsOption(),
        help="What signal to noise each output of a float model is to reach, as 30dB: layers stay in float for it.",
    ),
    click.option("--top1", type=float, help="Share of inputs that keep their greatest output, as 0.99: layers stay in float."),
    click.option(
        "--weights", default="8", show_default=True, metavar="8|4|auto|auto:30dB|auto:2MB",
        help="Bits of a float model's weights. auto: four in some layers; outputs lose 1 dB, keep 30 dB, or weights fit 2 MB.",
    ),
    click.option(
        "--activations", type=click.Choice(["8", "16"]), default="8", show_default=True,
        help="Bits of what a float model's layers and averages read and make; 16 run on machines with act16.",
    ),
    click.option(
        "--only", multiple=True, metavar="NAME", help="With --activations 16: a layer, or pattern as 'head/*', that has them."
    ),
    click.option("--quantise-rest", is_flag=True, help="Quantise what is float in a model that is quantised in part, too."),
    click.option(
        "--exact", "follow", flag_value="exact",
        help="Leave to the CPU all that cannot follow onnxruntime's kernels, not only what would differ in every run.",
    ),
    click.option(
        "--inexact", "follow", flag_value="inexact",
        help="Leave nothing to the CPU for that it cannot follow onnxruntime's kernels.",
    ),
    click.option("--input-type", type=_EIGHT_BITS, default="model", show_default=True, help="Type of the float inputs."),
    click.option("--output-type", type=_EIGHT_BITS, default="model", show_default=True, help="Type of float outputs."),
    click.option("--input-mean", "mean", type=NumbersOption(), default=(), help="Taken off each input, before its scale."),
    click.option("--input-scale", "scale", type=NumbersOption(), default=(), help="What each input is divided by."),
    click.option(
        "--input-layout", type=click.Choice(["model", "nhwc"]), default="model", show_default=True,
        help="Where channels are in the inputs that are given.",
    ),
    click.option("--batch", type=click.IntRange(1, 1 << 20), help="Images at once.  [default: the model's; 1 if free]"),
    click.option(
        "--shape", "shapes", type=ShapeOption(), multiple=True,
        help="Whole shape of an input; for several inputs, several times.  [default: the model's]",
    ),
    click.option("--nodes", type=click.IntRange(min=1), help="The most that the model may have.  [default: 50000]"),
    seconds_option(),
)  # fmt: skip


_AS_THEY_ARE = ("scheme", "method", "keep_float", "quantise_rest", "accuracy", "top1", "weights", "activations", "only")
"""The options that arguments of ``compile_model`` are named after."""


def model_options() -> Decorator:
    """Adds all of these options. The command takes them as ``**how``, but for ``--seconds``, which works by itself."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(OPTIONS):
            function = option(function)
        return function

    return decorate


def model_arguments(how: Mapping[str, Any], model: Path) -> dict[str, Any]:
    """The arguments of ``compile_model`` and of ``imported_as``."""
    from compiler.frontend.edges import Edges

    edges = ("input_type", "output_type", "mean", "scale", "input_layout")
    return {
        "calibration": _calibration(how, model),
        **{name: how[name] for name in _AS_THEY_ARE},
        "batch": how["batch"],
        "shapes": dict(how["shapes"]),
        "nodes": how["nodes"],
        "follow": how["follow"] or "usual",
        "edges": Edges(**{name: how[name] for name in edges}),
    }


def _calibration(how: Mapping[str, Any], model: Path) -> dict[str, Any] | None:
    from isa.errors import TilewrightError
    from tilewright.calibration import arrays_of, float_shapes
    from tilewright.images import Images

    path = how["calibrate"]
    of_images = {"mean": how["image_mean"], "std": how["image_std"], "size": how["image_size"]}
    given = {name: value for name, value in of_images.items() if value is not None}
    if given and (path is None or not path.is_dir()):
        raise TilewrightError(f"--{next(iter(given))}: is for a folder of images, as --calibrate images/; leave it out")
    if path is None:
        return None
    if path.is_dir() and how["input_layout"] != "model":
        raise TilewrightError("--input-layout nhwc: images of a folder are made as the model takes them; leave it out")
    return arrays_of(Images(path, **given) if path.is_dir() else path, lambda: float_shapes(model, dict(how["shapes"])))
