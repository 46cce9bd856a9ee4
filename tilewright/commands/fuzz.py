"""``tilewright fuzz``."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isa.config import MachineConfig, preset
from sim.campaign.run import How
from tilewright.exits import Exit
from tilewright.options import campaign_options, check_output, config_option, json_option, print_json
from tilewright.printing import say
from tilewright.progress import share_done, stage_reporter

if TYPE_CHECKING:
    from sim.random.fuzz import FuzzReport


@click.command()
@click.option("--models", is_flag=True, help="Random models on random machines, in place of random programs.")
@config_option(default=None, help="Preset, or TOML file, of the machine.  [default: nano; with --models a random one for each]")
@click.option(
    "--configs", type=click.IntRange(min=1),
    help="So many random machines, each with --count programs or models, in place of --config.",
)
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
@campaign_options()
@json_option()
def command(
    models: bool, config: MachineConfig | None, configs: int | None, seed: int, count: int, engine: str | None, output: Path,
    keep_going: bool, how: How, as_json: bool,
) -> Exit:  # fmt: skip
    """Run random programs on the functional simulator and on another engine, and compare whole memories.

    Where there are no stalls, cycles on the Verilog are compared with the cycle model: more than a tenth apart is a mismatch.

    With --models, random networks: float or quantised by onnxruntime, each compiled for a machine with a random strategy,
    run on the functional simulator and compared element by element with onnxruntime; with --engine rtl also on the
    Verilog, whose memory is compared byte by byte.

    A mismatch leaves the smallest program or model that shows it, with its seed, and exit code 1. Workers change nothing of
    what is found: results are taken in the order of the seeds.

    \b
    Examples:
      tilewright fuzz --config nano --seed 7 --count 1000 --engine rtl
      tilewright fuzz --configs 20 --count 50 --engine rtl
      tilewright fuzz --models --count 100
      tilewright fuzz --models --configs 20 --count 5 --engine rtl
      tilewright fuzz --models --count 10000 --scheduler tcp://host:8786 --record models.jsonl --resume
    """
    check_output(output / "case")
    if configs and config:
        raise click.UsageError(f"--configs {configs}: draws the machines, and --config names one; give one of them")
    if models:
        return _models(config, configs, seed, count, engine or "functional", output, keep_going, how, as_json)
    return _programs(configs or config or preset("nano"), seed, count, engine or "rtl", output, keep_going, how, as_json)


def _models(
    config: MachineConfig | None, machines: int | None, seed: int, count: int, engine: str, output: Path, keep_going: bool,
    how: How, as_json: bool,
) -> Exit:  # fmt: skip
    from tilewright.model_fuzz import run_model_fuzz

    total = (machines or 1) * count
    since = time.perf_counter()
    with stage_reporter(quiet=as_json) as stage:

        def mismatch(line: str) -> None:
            stage("")
            say(line, err=True)

        def done(number: int) -> None:
            stage(share_done(f"{number} of {total} models", number, total, time.perf_counter() - since, ""))

        result = run_model_fuzz(
            seed, count, engine, config=config, machines=machines, directory=output, keep_going=keep_going, report=mismatch,
            progress=done, how=how,
        )  # fmt: skip
    if as_json:
        print_json({"machines": machines, "seed": seed, "engine": engine, **dataclasses.asdict(result)})
    else:
        say(
            f"{engine}: {result.models} models, {result.operations} operations, {result.elements} elements in "
            f"{result.seconds:.1f} s; {result.inexact} with operations that have inexact cases; "
            f"{len(result.failures) or 'no'} failures"
        )
    return Exit.DONE if result.ok else Exit.CHECK_FAILED


def _programs(
    machine: MachineConfig | int, seed: int, count: int, engine: str, output: Path, keep_going: bool, how: How,
    as_json: bool,
) -> Exit:  # fmt: skip
    """Runs random programs on the machine, or on so many random machines."""
    run: Callable[..., FuzzReport]
    if isinstance(machine, int):
        from sim.random.fuzz import run_machines as run
    else:
        from sim.random.fuzz import run_fuzz as run
    total, name = (machine * count, f"{machine} random machines") if isinstance(machine, int) else (count, machine.name)
    since = time.perf_counter()
    with stage_reporter(quiet=as_json) as stage:
        if engine != "functional":
            stage("program 1, which builds the simulator: a minute or two")

        def mismatch(line: str) -> None:
            stage("")
            say(line, err=True)

        def done(programs: int, cycles: int) -> None:
            seconds = time.perf_counter() - since
            speed = f"{cycles / seconds:.0f} cycles/s" if cycles else ""
            stage(share_done(f"{programs} of {total} programs", programs, total, seconds, speed))

        result = run(
            machine, seed, count, engine, directory=output, keep_going=keep_going, report=mismatch, progress=done, how=how
        )  # fmt: skip
    if as_json:
        print_json({"config": name, "seed": seed, "engine": engine, **dataclasses.asdict(result)})
    else:
        say(
            f"{name}, {engine}: {result.programs} programs, {result.instructions} instructions, {result.cycles} cycles "
            f"in {result.seconds:.1f} s; {len(result.failures) or 'no'} mismatches"
        )
    return Exit.DONE if result.ok else Exit.CHECK_FAILED
