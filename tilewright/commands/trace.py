"""``tilewright trace``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tilewright.options import check_output, json_option, print_json, seconds_option, timing_options, write_file
from tilewright.printing import say


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="JSON file.")
@timing_options()
@seconds_option()
@json_option()
def command(program: Path, output: Path, engine: str, source: Path | None, as_json: bool) -> None:
    """Write the timeline of a program for Perfetto (https://ui.perfetto.dev) or chrome://tracing.

    One track for each unit, arrows for dependency tokens, counters for DRAM bandwidth and array occupancy. One
    microsecond of the timeline is one cycle.

    \b
    Examples:
      tilewright trace model.elf -o trace.json
      tilewright trace model.elf -o trace.json --engine rtl --input image.npz
    """
    from isa.program_file import load_program
    from tilewright.measure import timing_of
    from tilewright.profile.timeline import timeline

    check_output(output, program, source)
    loaded = load_program(program)
    timing = timing_of(loaded, engine, source, quiet=as_json)
    document = timeline(loaded, timing)
    write_file(output, json.dumps(document, separators=(",", ":")).encode())
    slices = sum(event["ph"] == "X" for event in document["traceEvents"])
    if as_json:
        print_json({"output": str(output), "source": timing.source, "cycles": timing.cycles, "instructions": slices})
    else:
        say(f"{output}: {slices} instructions, {timing.cycles} cycles ({timing.source})")
