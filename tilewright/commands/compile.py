"""``tilewright compile``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from isa.config import MachineConfig
from tilewright.options import (
    OBJECTIVE_HELP,
    STRATEGY_HELP,
    check_output,
    config_option,
    extent_options,
    json_option,
    print_json,
    write_file,
)
from tilewright.progress import stage_reporter


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@config_option()
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Program file.")
@click.option("--strategy", default="best", show_default=True, help=STRATEGY_HELP)
@click.option("--objective", default="cycles", show_default=True, help=OBJECTIVE_HELP)
@click.option("--memory", help="DRAM that feature maps may take, as 196608, 192K or 1.5M; what that costs in cycles is least.")
@click.option("--groups", type=click.Path(path_type=Path), help="JSON file: lists of operation names that run together.")
@click.option("--calibrate", type=click.Path(path_type=Path), help="NPZ file of inputs, for float models.")
@click.option(
    "--validate", type=click.Path(path_type=Path),
    help="NPZ file of inputs and their classes, array `labels`: accuracy of a float model before and after quantisation.",
)
@click.option("--scheme", default="power_of_two", show_default=True, help="Scales of float models: power_of_two, or free.")
@extent_options()
@click.option(
    "--dump", type=click.Path(path_type=Path), help="Folder for what each stage makes: graphs, groups, instructions by layer."
)
@click.option("-v", "--verbose", is_flag=True, help="List groups, and the nodes that stay on the CPU.")
@json_option()
def command(
    model: Path, config: MachineConfig, output: Path, strategy: str, objective: str, memory: str | None, groups: Path | None,
    calibrate: Path | None, validate: Path | None, scheme: str, batch: int | None,
    shapes: tuple[tuple[str, tuple[int, ...]], ...], dump: Path | None, verbose: bool, as_json: bool,
) -> None:  # fmt: skip
    """Compile an ONNX model to a program file.

    \b
    Examples:
      tilewright compile model.onnx --config base -o model.elf
      tilewright compile float.onnx --calibrate images.npz -o float.elf
      tilewright compile detector.onnx --shape image:1x3x480x640 -o detector.elf
      tilewright compile model.onnx --config nano --memory 192K -o small.elf
      tilewright compile float.onnx --calibrate images.npz --validate labelled.npz -o float.elf
    """
    from isa.program_file import program_bytes
    from tilewright.api import compile_model, facts, read_arrays, read_groups, validated
    from tilewright.dump import Dump

    check_output(output)
    stages = Dump()
    if dump:
        check_output(dump / stages.FILES[0])
    labelled = read_arrays(validate) if validate else None
    with stage_reporter(quiet=as_json) as report:
        compiled = compile_model(
            model, config, strategy=strategy, objective=objective, scheme=scheme, batch=batch, progress=report,
            groups=read_groups(groups) if groups else None, calibration=read_arrays(calibrate) if calibrate else None,
            watch=stages.graph if dump else None, shapes=dict(shapes), memory=memory,
        )  # fmt: skip
        summary = facts(compiled)
        if labelled:
            report("accuracy before and after quantisation")
            summary["accuracy"] = str(validated(compiled, labelled))
    write_file(output, program_bytes(compiled.program))
    if dump:
        for name, text in stages.texts(compiled):
            write_file(dump / name, text.encode())
    if as_json:
        print_json({"output": str(output), **summary})
        return
    for name, value in summary.items():
        click.echo(f"{name:24} {_readable(value)}")
    if verbose:
        for plan in compiled.plans:
            cost = f"about {plan.cost.cycles} cycles, {plan.cost.dram_bytes} bytes"
            passes = f"{plan.count} passes of " if plan.count > 1 else ""
            click.echo(f"group {plan.group.name}: {passes}{plan.steps} steps, {cost}")
        for name, cases in compiled.imported.inexact.items():
            click.echo(f"inexact: {name}: {cases} may differ from onnxruntime's by one step")
        for node, reason in compiled.imported.reasons.items():
            click.echo(f"on the CPU: {node}: {reason}")


def _readable(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {seconds:.2f}" for name, seconds in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
