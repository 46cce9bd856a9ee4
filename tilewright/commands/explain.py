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
    json_option,
    print_json,
    write_file,
)
from tilewright.printing import say
from tilewright.progress import stage_reporter

LOST = "counted alone: between its neighbours it is slower, or the strategy does not weigh it"
"""Why a runner-up that costs less was not taken."""

if TYPE_CHECKING:
    from compiler.search.effort import Effort
    from compiler.search.reasons import Reason


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
@json_option()
def command(
    source: Path, config: MachineConfig, strategy: str, objective: str | None, effort: str, architecture: str | None,
    output: Path | None, memory: bool, schedule: bool, as_json: bool, **how: Any,
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
    from compiler.search.best import best
    from compiler.search.effort import effort_of
    from compiler.search.least_cycles import least_cycles
    from compiler.search.partition import partition_by
    from compiler.search.reasons import reasons
    from tilewright.explain.picture import partition_picture
    from tilewright.explain.source import is_program, of_model, of_program

    if output is not None:
        check_output(output, source, how["calibrate"])
    time = effort_of(effort)
    if architecture is not None:
        if output is not None or memory or schedule or objective not in (None, DRAM.name):
            what = "tells groups and bytes; leave --objective, --memory, --schedule and -o out"
            raise InputError(f"explain --architecture: {what}")
        _architecture(architecture, source, config, strategy, time, as_json, how)
        return
    objective = objective or CYCLES.name
    wanted = objective_of(objective)
    if memory:
        if strategy != "best" or output is not None:
            raise InputError("explain --memory: chooses partitions itself and prints a table; leave --strategy and -o out")
        _memory(source, config, objective, time, as_json, how)
        return
    if schedule:
        if output is not None or as_json:
            raise InputError("explain --schedule: prints TOML; leave -o and --json out")
        _schedule(source, config, strategy, objective, time, how)
        return
    with stage_reporter(quiet=as_json) as report:
        report("search")
        if is_program(source):
            chosen = of_program(source, time)
        else:
            chosen = of_model(
                source, config, strategy=strategy, objective=objective, how=model_arguments(how), effort=time, progress=report
            )  # fmt: skip
        report("reasons")
        found = reasons(chosen.evaluator, wanted, chosen.groups)
        report("bound")
        chosen.evaluator.told = lambda doing: report(doing.replace("search", "bound", 1))
        limit = partition_by(best, chosen.evaluator.graph, chosen.evaluator, wanted)
        least = least_cycles(chosen.evaluator)
    if output is not None:
        write_file(output, partition_picture(chosen.evaluator.sets, chosen.groups, found).encode())
    if as_json:
        print_json({
            "groups": [_facts(reason) for reason in found], "program cycles": chosen.cycles, "bound": limit.bound,
            "groups not weighed": limit.left_out.groups,
            "least cycles": least.cycles, "least cycles for": least.reason,
        })  # fmt: skip
        return
    for number, reason in enumerate(found, 1):
        say(*_lines(number, reason, objective))
    cycles, moved = sum(r.saved_cycles for r in found), sum(r.saved_bytes for r in found)
    total = sum(r.cost.cycles for r in found), sum(r.cost.dram_bytes for r in found)
    say(f"{len(found)} groups: about {total[0]:,} cycles, {total[1]:,} bytes; saved {cycles:,} cycles, {moved:,} bytes")
    say(f"the program takes {chosen.cycles:,} cycles by the cycle model, which sees what neighbours wait for")
    value = sum(wanted(reason.cost) for reason in found)
    over = f"these cost {value / limit.bound - 1:.1%} more" if limit.bound else "nothing is computed"
    missing = f"; {limit.left_out.groups:,} more groups were found than weighed" if limit.left_out.groups else ""
    say(f"no partition costs less than {limit.bound:,} ({wanted.name}), {over}{missing}")
    if least.cycles:
        more = f"this one takes {chosen.cycles / least.cycles - 1:.1%} more"
        say(f"no program takes fewer than {least.cycles:,} cycles, for {least.reason}: {more}")


def _memory(
    source: Path, config: MachineConfig, objective: str, effort: Effort, as_json: bool, how: Mapping[str, Any]
) -> None:
    from tilewright.explain.curve import memory_curve
    from tilewright.explain.source import is_program

    if is_program(source):
        raise InputError(f"{source}: a program has one partition; give the model that it was compiled from")
    with stage_reporter(quiet=as_json) as report:
        report("search")
        points = memory_curve(source, config, objective=objective, how=model_arguments(how), effort=effort, progress=report)
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
            source, config, strategy=strategy, objective=objective, how=model_arguments(how), effort=effort, progress=report
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
        found = groups_on(name, source, config, strategy=strategy, effort=effort, progress=report, **model_arguments(how))
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


def _facts(reason: Reason) -> dict[str, object]:
    return {**dataclasses.asdict(reason), "saved_cycles": reason.saved_cycles, "saved_bytes": reason.saved_bytes}


def _lines(number: int, reason: Reason, objective: str) -> list[str]:
    cost = f"about {reason.cost.cycles:,} cycles, {reason.cost.dram_bytes:,} bytes"
    lines = [f"{number}. {' + '.join(reason.ops)}", f"   {cost}, {reason.shape}"]
    if len(reason.ops) > 1:
        lines.append(f"   saves {reason.saved_cycles:,} cycles and {reason.saved_bytes:,} bytes: {_why(reason)}")
    other = reason.runner_up
    if other is None:
        lines.append("   no other group with any of its neighbours fits")
    else:
        cheaper = f"{-other.dearer:,} {objective} cheaper, {LOST}"
        than = cheaper if other.dearer < 0 else f"{other.dearer:,} {objective} dearer"
        lines.append(f"   runner-up: {other.what}: {than}")
    return lines


def _why(reason: Reason) -> str:
    parts = []
    if reason.stays:
        parts.append(f"{_many(len(reason.stays), 'map')} on chip only")
    if reason.shared:
        parts.append(f"{_many(len(reason.shared), 'map')} loaded once for several")
    if reason.reloaded:
        parts.append(f"parameters reloaded: {reason.reloaded:,} bytes")
    if reason.template:
        parts.append(f"template {reason.template}")
    return "; ".join(parts) or "units overlap"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count > 1 else "")
