"""``tilewright fuzz``."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import click

from isa.config import MachineConfig, preset
from tilewright.exits import Exit
from tilewright.options import check_output, config_option, json_option, print_json
from tilewright.progress import share_done, stage_reporter


@click.command()
@click.option("--models", is_flag=True, help="Random models on random machines, in place of random programs.")
@config_option(default=None, help="Preset, or TOML file, of the machine.  [default: nano; with --models a random one for each]")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Seed of the first program or model; the next has the next.",
)
@click.option("--count", type=click.IntRange(min=1), default=100, show_default=True, help="Number of programs or models.")
@click.option(
    "--engine",
    type=click.Choice(["rtl", "icarus", "garbage", "functional"]),
    default=None,
    help="What is compared with the functional simulator: the Verilog in Verilator or in Icarus; "
    "garbage is Verilator with random values in all that has none; "
    "functional runs no hardware and looks for races between instructions. Models run on functional and on rtl.  "
    "[default: rtl; with --models functional]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("fuzz-failures"),
    show_default=True,
    help="Folder for the smallest program or model that shows a mismatch.",
)
@click.option("--keep-going", is_flag=True, help="Go on after a mismatch.")
@json_option()
def command(
    models: bool, config: MachineConfig | None, seed: int, count: int, engine: str | None, output: Path, keep_going: bool,
    as_json: bool,
) -> Exit:  # fmt: skip
    """Run random programs on the functional simulator and on another engine, and compare whole memories.

    With --models, random networks: float or quantised by onnxruntime, each compiled for a machine with a random strategy,
    run on the functional simulator and compared element by element with onnxruntime; with --engine rtl also on the
    Verilog, whose memory is compared byte by byte.

    A mismatch leaves the smallest program or model that shows it, with its seed, and exit code 1.

    \b
    Examples:
      tilewright fuzz --config nano --seed 7 --count 1000 --engine rtl
      tilewright fuzz --models --count 100
    """
    check_output(output / "case")
    if models:
        return _models(config, seed, count, engine or "functional", output, keep_going, as_json)
    return _programs(config or preset("nano"), seed, count, engine or "rtl", output, keep_going, as_json)


def _models(
    config: MachineConfig | None, seed: int, count: int, engine: str, output: Path, keep_going: bool, as_json: bool
) -> Exit:
    from tilewright.model_fuzz import run_model_fuzz

    since = time.perf_counter()
    with stage_reporter(quiet=as_json) as stage:

        def mismatch(line: str) -> None:
            stage("")
            click.echo(line, err=True)

        def done(number: int) -> None:
            stage(share_done(f"{number} of {count} models", number, count, time.perf_counter() - since, ""))

        result = run_model_fuzz(
            seed, count, engine, config=config, directory=output, keep_going=keep_going, report=mismatch, progress=done
        )  # fmt: skip
    if as_json:
        print_json({"seed": seed, "engine": engine, **dataclasses.asdict(result)})
    else:
        click.echo(
            f"{engine}: {result.models} models, {result.operations} operations, {result.elements} elements in "
            f"{result.seconds:.1f} s; {result.inexact} with operations that have inexact cases; "
            f"{len(result.failures) or 'no'} failures"
        )
    return Exit.DONE if result.ok else Exit.CHECK_FAILED


def _programs(
    config: MachineConfig, seed: int, count: int, engine: str, output: Path, keep_going: bool, as_json: bool
) -> Exit:
    from sim.random.fuzz import run_fuzz

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
