"""``tilewright report``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tilewright.options import check_output, json_option, print_json, seconds_option, timing_options, write_files
from tilewright.printing import say
from tilewright.progress import stage_reporter

PAGE_FILE, TRACE_FILE = "report.html", "trace.json"


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the page and the timeline.")
@timing_options()
@seconds_option()
@json_option()
def command(program: Path, output: Path, engine: str, source: Path | None, as_json: bool) -> None:
    """Write one HTML page that shows where a program's cycles, DRAM bytes and on-chip words go, and a timeline.

    Layers with their waits by cause, a roofline, units and memory over time, the instructions of each layer. The page
    loads nothing from anywhere.

    \b
    Examples:
      tilewright report model.elf -o report/
      tilewright report model.elf -o report/ --engine rtl
    """
    from isa.program_file import load_program
    from tilewright.measure import timing_of
    from tilewright.profile.timeline import timeline
    from tilewright.report.page import page

    check_output(output / PAGE_FILE)
    loaded = load_program(program)
    timing = timing_of(loaded, engine, source, quiet=as_json)
    with stage_reporter(quiet=as_json) as report:
        report("page")
        files = {PAGE_FILE: page(loaded, timing, program.stem), TRACE_FILE: json.dumps(timeline(loaded, timing))}
    write_files((output / name, text.encode()) for name, text in files.items())
    if as_json:
        print_json({"files": [str(output / name) for name in files], "source": timing.source, "cycles": timing.cycles})
    else:
        for name, text in files.items():
            say(f"{output / name}: {len(text.encode())} bytes")
