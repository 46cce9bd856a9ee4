"""``tilewright compile``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from isa.config import MachineConfig
from tilewright.model_options import model_arguments, model_options
from tilewright.options import (
    EFFORT_HELP,
    EVALUATOR_HELP,
    OBJECTIVE_HELP,
    ORDER_HELP,
    STRATEGY_HELP,
    check_apart,
    check_output,
    config_option,
    cores_option,
    cpu_option,
    json_option,
    print_json,
    write_files,
)
from tilewright.printing import say
from tilewright.progress import stage_reporter


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@config_option()
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Program file.")
@click.option("--strategy", default="best", show_default=True, help=STRATEGY_HELP)
@click.option("--objective", default="cycles", show_default=True, help=OBJECTIVE_HELP)
@click.option("--effort", default="normal", show_default=True, help=EFFORT_HELP)
@click.option("--evaluator", default="analytic", show_default=True, help=EVALUATOR_HELP)
@click.option("--order", default="least", show_default=True, help=ORDER_HELP)
@cores_option("Machines of one chip that share each image, so that it takes less time.")
@click.option("--memory", help="DRAM that feature maps may take, as 196608, 192K or 1.5M; what that costs in cycles is least.")
@click.option("--groups", type=click.Path(path_type=Path), help="JSON file: lists of operation names that run together.")
@click.option(
    "--schedule", type=click.Path(path_type=Path), help="TOML file: what is decided; the rest is searched. See --save-schedule."
)
@click.option("--save-schedule", type=click.Path(path_type=Path), help="File for all that was decided, as --schedule reads it.")
@model_options()
@click.option(
    "--validate", type=click.Path(path_type=Path),
    help="NPZ file of inputs: signal to noise of a float model's layers; with their classes, array `labels`, accuracy too.",
)
@click.option("--save-onnx", type=click.Path(path_type=Path), help="File for the quantised model, as ONNX.")
@cpu_option()
@click.option("--csv", "table", type=click.Path(path_type=Path), help="File for a table: the run by parts, layers and nodes.")
@click.option(
    "--dump", type=click.Path(path_type=Path), help="Folder for what each stage makes: graphs, groups, instructions by layer."
)
@click.option("--arena", type=click.Path(path_type=Path), help="SVG file: feature maps in DRAM over the steps, and their peak.")
@click.option("-v", "--verbose", is_flag=True, help="List groups, and every node on the CPU; with --json, layers too.")
@json_option()
def command(
    model: Path, config: MachineConfig, output: Path, strategy: str, objective: str, effort: str, evaluator: str,
    order: str, cores: int, memory: str | None, groups: Path | None, validate: Path | None, save_onnx: Path | None,
    schedule: Path | None, save_schedule: Path | None, table: Path | None, dump: Path | None, arena: Path | None, verbose: bool,
    as_json: bool, cpu: str | None, **how: Any,
) -> None:  # fmt: skip
    """Compile an ONNX model to a program file.

    \b
    Examples:
      tilewright compile model.onnx --config base -o model.elf
      tilewright compile float.onnx --calibrate images.npz -o float.elf
      tilewright compile detector.onnx --shape image:1x3x480x640 -o detector.elf
      tilewright compile model.onnx --config nano --memory 192K -o small.elf --arena small.svg
      tilewright compile model.onnx --config zu9 --cores 2 -o both.elf
      tilewright compile model.onnx --save-schedule model.toml -o model.elf
      tilewright compile model.onnx --schedule model.toml -o again.elf
      tilewright compile float.onnx --calibrate images.npz --validate labelled.npz -o float.elf
      tilewright compile float.onnx --calibrate pixels.npz --input-type uint8 --input-mean 127.5 --input-scale 127.5 -o u8.elf
    """
    from compiler.emit.described import schedule_text
    from compiler.quantise.arrays import read_arrays
    from isa.program_file import program_bytes
    from tilewright.compiling import compile_model, quantised_onnx, read_groups, validated
    from tilewright.dump import Dump
    from tilewright.noise import measure_noise, noise_text, with_noise
    from tilewright.processors import processor_of
    from tilewright.report.arena import picture_of
    from tilewright.run_table import as_csv, run_table
    from tilewright.summary import LEFT_OUT, details, label
    from tilewright.summary import summary as summary_of
    from tilewright.why import why

    outputs = [path for path in (output, save_onnx, save_schedule, table, arena) if path]
    for path in outputs:
        check_output(path, model, groups, schedule, validate, how["calibrate"])
    check_apart(outputs)
    stages = Dump()
    if dump:
        check_output(dump / stages.FILES[0])
    labelled = read_arrays(validate) if validate else None
    processor = processor_of(cpu, config)
    with stage_reporter(quiet=as_json) as report:
        compiled = compile_model(
            model, config, strategy=strategy, objective=objective, progress=report,
            groups=read_groups(groups) if groups else None, memory=memory, watch=stages.graph if dump else None,
            schedule=schedule, effort=effort, evaluator=evaluator, order=order, cores=cores,
            **model_arguments(how, model),
        )  # fmt: skip
        noise, accuracy = [], ""
        if labelled:
            report("accuracy before and after quantisation")
            if "labels" in labelled:
                accuracy = str(validated(compiled, labelled))
            noise = measure_noise(compiled, labelled)
            compiled = with_noise(compiled, noise, accuracy)
        report("summary")
        summary = summary_of(compiled, processor, accuracy)
    files = [(output, program_bytes(compiled.program))]
    if save_onnx:
        files.append((save_onnx, quantised_onnx(compiled).SerializeToString()))
    if save_schedule:
        config, graph = compiled.program.config, compiled.imported.graph
        files.append((save_schedule, schedule_text(config, graph, compiled.steps, compiled.sharing).encode()))
    if table:
        files.append((table, as_csv(run_table(compiled, summary.time)).encode()))
    if dump:
        files += [(dump / name, content) for name, content in stages.files(compiled)]
    if arena:
        files.append((arena, picture_of(compiled.program).encode()))
    write_files(files)
    if as_json:
        told = [{"layer": row.layer, "tensor": row.tensor, "decibels": _decibels(row.decibels)} for row in noise]
        more = details(compiled, summary.time) if verbose else {}
        print_json({"output": str(output), **summary.as_dict(), "signal_to_noise": told, **more})
        return
    hint = "; --effort full looks at more" if strategy == "best" and effort != "full" else ""
    for name, text in summary.rows():
        say(f"{name:24} {text}{hint if name == label(LEFT_OUT) else ''}")
    for cause in summary.causes:
        say(f"on the CPU: {cause}")
    for row in noise:
        say(f"signal to noise: {row.layer}: {noise_text(row.decibels)}{'' if math.isinf(row.decibels) else ' dB'}")
    if verbose:
        for plan in compiled.plans:
            cost = f"the search's estimate {plan.cost.cycles} cycles, {plan.cost.dram_bytes} bytes"
            say(f"group {plan.group.name}: {plan.shape}, {cost}")
        for name, cases in compiled.imported.inexact.items():
            say(f"inexact: {name}: {cases} may differ from onnxruntime's by one step")
        for node, reason in compiled.imported.reasons.items():
            say(f"node on the CPU: {node}: {why(reason)}")


def _decibels(value: float) -> float | None:
    """The number of decibels as printed; exact is none."""
    return None if math.isinf(value) else round(value, 2)
