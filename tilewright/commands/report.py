"""``tilewright report``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tilewright.options import (
    InputError,
    check_output,
    cpu_option,
    json_option,
    print_json,
    seconds_option,
    timing_options,
    write_files,
)
from tilewright.printing import say
from tilewright.progress import stage_reporter


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path), required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the page and the timeline.")
@timing_options()
@cpu_option()
@seconds_option()
@json_option()
def command(
    program: Path, other: Path | None, output: Path, engine: str, source: Path | None, cpu: str | None, as_json: bool
) -> None:
    """Write one HTML page that shows where a run's time, DRAM bytes and on-chip words go, and a timeline.

    The whole run with the parts on the CPU, what takes most of it and what would help, layers with their work and waits, a
    roofline, units and memory over time, the instructions of each layer. The page loads nothing from anywhere. Of two
    programs the page compares them, layer by layer.

    \b
    Examples:
      tilewright report model.elf -o report/
      tilewright report model.elf -o report/ --engine rtl --cpu cortex-a72
      tilewright report before.elf after.elf -o compared/
    """
    from isa.program_file import load_program
    from tilewright.measure import timing_of
    from tilewright.processors import processor_of
    from tilewright.profile.timeline import TRACE_FILE, timeline
    from tilewright.profile.whole import whole_time
    from tilewright.report.compared import Run, compared
    from tilewright.report.page import PAGE_FILE, page

    check_output(output / PAGE_FILE)
    if other is not None and source is not None:
        raise InputError("report --input: one program takes inputs; of two leave it out")
    runs = []
    for path in (program, other) if other else (program,):
        loaded = load_program(path)
        processor = processor_of(cpu, loaded.config)
        timing = timing_of(loaded, engine, source, quiet=as_json)
        runs.append(Run(str(path), loaded, timing, whole_time(loaded, timing.steps, processor, timing.source)))
    first = runs[0]
    with stage_reporter(quiet=as_json) as report:
        report("page")
        if other:
            files = {PAGE_FILE: compared(*runs)}
        else:
            trace = json.dumps(timeline(first.program, first.timing, first.time))
            files = {PAGE_FILE: page(first.program, first.timing, first.time, program.stem), TRACE_FILE: trace}
    write_files((output / name, text.encode()) for name, text in files.items())
    if as_json:
        told = [
            {"program": run.name, "source": run.timing.source, **run.time.figures(), "spans": run.time.rows()} for run in runs
        ]  # fmt: skip
        sizes = [len(text.encode()) for text in files.values()]
        print_json({"files": [str(output / name) for name in files], "bytes": sizes, "runs": told})
    else:
        for name, text in files.items():
            say(f"{output / name}: {len(text.encode())} bytes")
