"""``tilewright trace``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tilewright.options import check_output, cpu_option, json_option, print_json, seconds_option, timing_options, write_file
from tilewright.printing import say


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="JSON file.")
@timing_options()
@cpu_option()
@seconds_option()
@json_option()
def command(program: Path, output: Path, engine: str, source: Path | None, cpu: str | None, as_json: bool) -> None:
    """Write the timeline of a program for Perfetto (https://ui.perfetto.dev) or chrome://tracing.

    Parts on the CPU and transfers in their place in time; one track for each unit, arrows for dependency tokens, counters
    for DRAM bandwidth and array occupancy. One microsecond of the timeline is one cycle.

    \b
    Examples:
      tilewright trace model.elf -o trace.json
      tilewright trace model.elf -o trace.json --engine rtl --input image.npz
    """
    from isa.program_file import load_program
    from tilewright.measure import timing_of
    from tilewright.processors import processor_of
    from tilewright.profile.timeline import timeline
    from tilewright.profile.whole import whole_time

    check_output(output, program, source)
    loaded = load_program(program)
    processor = processor_of(cpu, loaded.config)
    timing = timing_of(loaded, engine, source, quiet=as_json)
    time = whole_time(loaded, timing.steps, processor, timing.source)
    document = timeline(loaded, timing, time)
    write_file(output, json.dumps(document, separators=(",", ":")).encode())
    slices = sum(event["ph"] == "X" and event["pid"] == 1 for event in document["traceEvents"])
    if as_json:
        print_json({
            "output": str(output), "source": timing.source, **time.figures(), "instructions": slices,
        })  # fmt: skip
    else:
        say(f"{output}: {slices} instructions, {timing.cycles} cycles ({timing.source}); end to end {time.told}")
