"""``tilewright check``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from isa.config import MachineConfig
from tilewright.exits import Exit
from tilewright.model_options import model_arguments, model_options
from tilewright.options import STRATEGY_HELP, config_option, json_option, print_json
from tilewright.printing import say
from tilewright.progress import stage_reporter


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@config_option()
@click.option(
    "--engine", type=click.Choice(["functional", "rtl"]), default="functional", show_default=True, help="What runs it."
)
@click.option("--input", "source", type=click.Path(path_type=Path), help="NPZ file of inputs.  [default: random ones]")
@model_options()
@click.option("--strategy", default="best", show_default=True, help=STRATEGY_HELP)
@click.option("--per-layer", is_flag=True, help="Compare every tensor of the network, and name the first that differs.")
@click.option(
    "--oracle", type=click.Choice(["integer", "float"]), default="integer", show_default=True,
    help="How onnxruntime reads quantised patterns: fused to its integer kernels, or as float operators.",
)  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(min=0), default=0, help="Greatest distance that passes.  [default: 0]")
@json_option()
def command(
    model: Path, config: MachineConfig, engine: str, source: Path | None, strategy: str, per_layer: bool, oracle: str,
    tolerance: float, as_json: bool, **how: Any,
) -> int:  # fmt: skip
    """Compile a model, run it, and compare what comes out with onnxruntime; a TFLite model also with its interpreter.

    Exit code 1 if any element differs by more than the tolerance.

    \b
    Examples:
      tilewright check model.onnx --engine rtl
      tilewright check model.onnx --per-layer
      tilewright check model.onnx --oracle float --tolerance 0.1
    """
    from compiler.quantise.arrays import read_arrays
    from tilewright.checking import READINGS, check
    from tilewright.compiling import compile_model
    from tilewright.inputs import random_inputs
    from tilewright.interpreter import beside_interpreter

    with stage_reporter(quiet=as_json) as report:
        compiled = compile_model(model, config, strategy=strategy, progress=report, **model_arguments(how, model))
        inputs = read_arrays(source) if source else random_inputs(compiled.program)
        found = check(compiled, inputs, engine, oracle=oracle, per_layer=per_layer, progress=report)
        theirs = beside_interpreter(model, compiled.program, inputs)
    wrong = found.wrong(tolerance)
    apart = [row for row in found.optimised if row.differ]
    if as_json:
        print_json({
            "oracle": oracle, "reading": found.reading,
            "tolerance": tolerance, "tensors": [asdict(row) for row in found.tensors], "equal": not wrong,
            "optimised": [asdict(row) for row in found.optimised], "why": found.why,
            "defined": [asdict(row) for row in found.defined],
            "interpreter": theirs if isinstance(theirs, str) else [asdict(row) for row in theirs],
        })  # fmt: skip
    else:
        instead = "" if found.reading == oracle else " (its optimiser makes an invalid model of the patterns)"
        say(f"oracle: {READINGS[found.reading]}{instead}")
        for row in found.tensors:
            say(str(row))
        if wrong and per_layer:
            say(f"first to differ: {wrong[0].tensor}")
        for row in apart:
            say(f"onnxruntime with every optimisation beside its integer kernels: {row} ({found.why})")
        if found.defined:
            differ, elements = (sum(getattr(row, name) for row in found.defined) for name in ("differ", "elements"))
            most = max(row.greatest for row in found.defined)
            say(f"integer softmax and normalisation beside float ones: {differ} of {elements} differ, by at most {most:g}")
        if isinstance(theirs, str):
            say(theirs)
        else:
            for row in theirs:
                say(f"TFLite's interpreter beside onnxruntime's integer kernels: {row}")
    return Exit.CHECK_FAILED if wrong else Exit.DONE
