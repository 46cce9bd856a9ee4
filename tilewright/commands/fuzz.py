"""``tilewright fuzz``."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import click

from isa.config import MachineConfig
from tilewright.exits import Exit
from tilewright.options import check_output, config_option, json_option, print_json
from tilewright.progress import share_done, stage_reporter


@click.command()
@config_option(default="nano")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the first program; the next has the next."
)
@click.option("--count", type=click.IntRange(min=1), default=100, show_default=True, help="Number of programs.")
@click.option(
    "--engine",
    type=click.Choice(["rtl", "icarus", "garbage", "functional"]),
    default="rtl",
    show_default=True,
    help="What is compared with the functional simulator: the Verilog in Verilator or in Icarus; "
    "garbage is Verilator with random values in all that has none; "
    "functional runs no hardware and looks for races between instructions.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("fuzz-failures"),
    show_default=True,
    help="Folder for the smallest program that shows a mismatch.",
)
@click.option("--keep-going", is_flag=True, help="Go on after a mismatch.")
@json_option()
def command(config: MachineConfig, seed: int, count: int, engine: str, output: Path, keep_going: bool, as_json: bool) -> Exit:
    """Run random programs on the functional simulator and on another engine, and compare whole memories.

    A mismatch leaves the smallest program that shows it, with its seed, and exit code 1.

    \b
    Example:
      tilewright fuzz --config nano --seed 7 --count 1000 --engine rtl
    """
    from sim.random.fuzz import run_fuzz

    check_output(output / "case")
    since = time.perf_counter()
    with stage_reporter(quiet=as_json) as stage:
        if engine != "functional":
            stage("program 1, which builds the simulator: a minute or two")

        def mismatch(line: str) -> None:
            stage("")
            click.echo(line, err=True)

        def done(programs: int, cycles: int) -> None:
            seconds = time.perf_counter() - since
            speed = f"{cycles / seconds:.0f} cycles/s" if cycles else ""
            stage(share_done(f"{programs} of {count} programs", programs, count, seconds, speed))

        result = run_fuzz(
            config, seed, count, engine, directory=output, keep_going=keep_going, report=mismatch, progress=done
        )  # fmt: skip
    if as_json:
        print_json({"config": config.name, "seed": seed, "engine": engine, **dataclasses.asdict(result)})
    else:
        click.echo(
            f"{config.name}, {engine}: {result.programs} programs, {result.instructions} instructions, {result.cycles} cycles "
            f"in {result.seconds:.1f} s; {len(result.failures) or 'no'} mismatches"
        )
    return Exit.DONE if result.ok else Exit.CHECK_FAILED
