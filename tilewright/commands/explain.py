"""``tilewright explain``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isa.config import MachineConfig
from tilewright.model_options import model_arguments, model_options
from tilewright.options import (
    EFFORT_HELP,
    OBJECTIVE_HELP,
    STRATEGY_HELP,
    InputError,
    check_output,
    config_option,
    cpu_option,
    json_option,
    print_json,
    write_file,
)
from tilewright.printing import say
from tilewright.progress import stage_reporter

if TYPE_CHECKING:
    from compiler.search.effort import Effort
    from isa.program import Program
    from tilewright.processors import Processor
    from tilewright.profile.whole import WholeTime


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@config_option()
@click.option("--strategy", default="best", show_default=True, help=STRATEGY_HELP)
@click.option("--objective", help=f"{OBJECTIVE_HELP}  [default: cycles]")
@click.option("--effort", default="normal", show_default=True, help=EFFORT_HELP)
@click.option(
    "--architecture", metavar="NAME",
    help="Instead: groups and bytes on an accelerator of Optimus' table 4, eyeriss, shidiannao or lower-bound, of a model.",
)
@model_options()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="SVG file: the partitioned graph.")
@click.option("--memory", is_flag=True, help="Instead: cycles against the DRAM that feature maps take, of a model.")
@click.option("--schedule", is_flag=True, help="Instead: all that is decided of a model, as compile --schedule reads it.")
@cpu_option()
@json_option()
def command(
    source: Path, config: MachineConfig, strategy: str, objective: str | None, effort: str, architecture: str | None,
    output: Path | None, memory: bool, schedule: bool, cpu: str | None, as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Say which operations run together, what each group saves against its operations alone, and what was second best.

    SOURCE is a program file, or an ONNX model, for which the other options count as for compile. Costs are the search's.
    What no partition undercuts is proved from the groups that are weighed; --effort full weighs more.

    \b
    Examples:
      tilewright explain model.elf
      tilewright explain model.onnx --strategy dnnvm -o groups.svg
      tilewright explain model.onnx --objective dram --effort full
      tilewright explain model.onnx --config nano --memory
      tilewright explain model.onnx --schedule > model.toml
      tilewright explain model.onnx --architecture eyeriss --strategy optimus
    """
    from compiler.driver import objective_of
    from compiler.planning.objective import CYCLES, DRAM
    from compiler.search.effort import effort_of
    from isa.program_file import load_program
    from tilewright.explain.explained import explained
    from tilewright.explain.source import is_program, of_model, of_program
    from tilewright.processors import processor_of

    processor_of(cpu, config)
    if output is not None:
        check_output(output, source, how["calibrate"])
    allowed = effort_of(effort)
    if architecture is not None:
        if output is not None or memory or schedule or objective not in (None, DRAM.name):
            what = "tells groups and bytes; leave --objective, --memory, --schedule and -o out"
            raise InputError(f"explain --architecture: {what}")
        _architecture(architecture, source, config, strategy, allowed, as_json, how)
        return
    objective = objective or CYCLES.name
    objective_of(objective)
    if memory:
        if strategy != "best" or output is not None:
            raise InputError("explain --memory: chooses partitions itself and prints a table; leave --strategy and -o out")
        _memory(source, config, objective, allowed, as_json, how)
        return
    if schedule:
        if output is not None or as_json:
            raise InputError("explain --schedule: prints TOML; leave -o and --json out")
        _schedule(source, config, strategy, objective, allowed, how)
        return
    with stage_reporter(quiet=as_json) as report:
        report("search")
        if is_program(source):
            chosen = of_program(load_program(source), str(source), allowed)
        else:
            chosen = of_model(
                source, config, strategy=strategy, objective=objective, how=model_arguments(how, source), effort=allowed,
                progress=report,
            )  # fmt: skip
        whole = None if chosen.program is None else _whole(chosen.program, processor_of(cpu, chosen.program.config))
        found = explained(chosen, objective, whole, report)
    if output is not None:
        write_file(output, found.picture.encode())
    if as_json:
        print_json(found.as_dict())
    else:
        say(*str(found).splitlines())


def _whole(program: Program, processor: Processor) -> WholeTime:
    from tilewright.profile.activity import modelled
    from tilewright.profile.whole import whole_time

    return whole_time(program, modelled(program).steps, processor)


def _memory(
    source: Path, config: MachineConfig, objective: str, effort: Effort, as_json: bool, how: Mapping[str, Any]
) -> None:
    from tilewright.explain.curve import memory_curve
    from tilewright.explain.source import is_program

    if is_program(source):
        raise InputError(f"{source}: a program has one partition; give the model that it was compiled from")
    with stage_reporter(quiet=as_json) as report:
        report("search")
        how = model_arguments(how, source)
        points = memory_curve(source, config, objective=objective, how=how, effort=effort, progress=report)
    if as_json:
        print_json({"points": [dataclasses.asdict(point) for point in points]})
        return
    say(f"{'DRAM bytes':>12} {'cycles':>14} {'groups':>7}")
    for point in points:
        shared = "  inputs and outputs in WORK" if point.shared else ""
        say(f"{point.bytes:>12,} {point.cycles:>14,} {point.groups:>7}{shared}")


def _schedule(
    source: Path, config: MachineConfig, strategy: str, objective: str, effort: Effort, how: Mapping[str, Any]
) -> None:
    from tilewright.explain.source import is_program, schedule_of_model

    if is_program(source):
        raise InputError(f"{source}: a program does not say how it was searched; give the model that it was compiled from")
    with stage_reporter() as report:
        report("search")
        text = schedule_of_model(
            source, config, strategy=strategy, objective=objective, how=model_arguments(how, source), effort=effort,
            progress=report,
        )  # fmt: skip
    click.echo(text, nl=False)


def _architecture(
    name: str, source: Path, config: MachineConfig, strategy: str, effort: Effort, as_json: bool, how: Mapping[str, Any]
) -> None:  # fmt: skip
    from tilewright.architecture import groups_on
    from tilewright.explain.source import is_program

    if is_program(source):
        raise InputError(f"{source}: a program is for its own machine; give the model that it was compiled from")
    with stage_reporter(quiet=as_json) as report:
        how = model_arguments(how, source)
        found = groups_on(name, source, config, strategy=strategy, effort=effort, progress=report, **how)
    if as_json:
        print_json({**dataclasses.asdict(found), "bytes": found.bytes, "alone": found.alone})
        return
    for number, group in enumerate(found.groups, 1):
        say(f"{number}. {' + '.join(group.ops)}")
        say(f"   {group.bytes:,} bytes; layer by layer {group.alone:,}")
    less = 1 - found.bytes / found.alone if found.alone else 0
    moved = f"{found.bytes:,} bytes, layer by layer {found.alone:,}: {less:.1%} less"
    say(f"{found.architecture}: {len(found.groups)} groups move {moved}")
    say(f"no partition moves less than {found.bound:,}")
    if found.borrowed:
        say(f"not of this accelerator, but of {config.name}: {' '.join(found.borrowed)}, which fit in no block of its")
