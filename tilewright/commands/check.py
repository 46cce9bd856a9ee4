"""``tilewright check``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from isa.config import MachineConfig
from tilewright.exits import Exit
from tilewright.options import STRATEGY_HELP, config_option, extent_options, json_option, print_json
from tilewright.progress import stage_reporter


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@config_option()
@click.option(
    "--engine", type=click.Choice(["functional", "rtl"]), default="functional", show_default=True, help="What runs it."
)
@click.option("--input", "source", type=click.Path(path_type=Path), help="NPZ file of inputs.  [default: random ones]")
@click.option("--calibrate", type=click.Path(path_type=Path), help="NPZ file of inputs, for float models.")
@click.option("--scheme", default="power_of_two", show_default=True, help="Scales of float models: power_of_two, or free.")
@extent_options()
@click.option("--strategy", default="best", show_default=True, help=STRATEGY_HELP)
@click.option("--per-layer", is_flag=True, help="Compare every tensor of the network, and name the first that differs.")
@json_option()
def command(
    model: Path, config: MachineConfig, engine: str, source: Path | None, calibrate: Path | None, scheme: str,
    batch: int | None, shapes: tuple[tuple[str, tuple[int, ...]], ...], strategy: str, per_layer: bool, as_json: bool,
) -> int:  # fmt: skip
    """Compile a model, run it, and compare what comes out with onnxruntime.

    Exit code 1 if any element differs.

    \b
    Examples:
      tilewright check model.onnx --engine rtl
      tilewright check model.onnx --per-layer
    """
    from tilewright.api import compare, compile_model, random_inputs, read_arrays, run_program
    from tilewright.layers import compare_layers

    with stage_reporter(quiet=as_json) as report:
        compiled = compile_model(
            model, config, strategy=strategy, scheme=scheme, progress=report,
            calibration=read_arrays(calibrate) if calibrate else None, batch=batch, shapes=dict(shapes),
        )  # fmt: skip
        inputs = read_arrays(source) if source else random_inputs(compiled.program)
        report(f"run on {engine}")
        if per_layer:
            rows = compare_layers(compiled, inputs, engine, report)
        else:
            result = run_program(compiled.program, inputs, engine, progress=report)
            rows = compare(result.outputs, run_program(compiled.program, inputs, "cpu").outputs)
    wrong = [row for row in rows if row.differ]
    if as_json:
        print_json({"tensors": [asdict(row) for row in rows], "equal": not wrong})
    else:
        for row in rows:
            verdict = "equal" if not row.differ else f"{row.differ} of {row.elements} differ, by at most {row.greatest:g}"
            click.echo(f"{row.tensor}: {verdict}")
        if wrong and per_layer:
            click.echo(f"first to differ: {wrong[0].tensor}")
    return Exit.CHECK_FAILED if wrong else Exit.DONE
