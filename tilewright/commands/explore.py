"""``tilewright explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from isa.config import MachineConfig
from sim.campaign.cores import all_cores
from tilewright.model_options import model_arguments, model_options
from tilewright.options import (
    EFFORT_HELP,
    ConfigOption,
    InputError,
    check_output,
    json_option,
    print_json,
    write_files,
)
from tilewright.printing import say
from tilewright.progress import stage_reporter


class WeightsOption(click.ParamType[tuple[float, ...]]):
    """Numbers with colons between them."""

    name = "x:y"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(float(part) for part in str(value).split(":"))
        except ValueError:
            self.fail(f"{value!r}: expected a number for each model, as 2:1", param, ctx)


@click.command()
@click.option("--model", "models", type=click.Path(path_type=Path), multiple=True, required=True, help="ONNX model; repeat it.")
@click.option("--weight", type=WeightsOption(), help="How often each model runs, as 2:1.  [default: equally]")
@click.option("--average", default="runs", show_default=True, help="Of figures of several models: runs, or geometric.")
@click.option("--chip", metavar="NAME", help="A chip that is known, or a TOML file with a table [chip].")
@click.option("--luts", type=int, help="LUTs at most.  [default: four fifths of the chip's]")
@click.option("--dsps", type=int, help="DSPs at most.")
@click.option("--brams", type=int, help="Block RAMs at most.")
@click.option("--urams", type=int, help="UltraRAMs at most.")
@click.option("--bandwidth", type=float, help="Bytes of DRAM a second at most.  [default: the chip's]")
@click.option("--latency", type=float, help="Nanoseconds of DRAM that reads are to cover.")
@click.option("--clock", type=int, help="MHz of every machine.  [default: that of --config]")
@click.option("--objective", default="fps", show_default=True, help="fps, latency, energy or luts.")
@click.option("--constraint", "constraints", multiple=True, help="As 'fps(a) >= 30'; repeat it. latency in ms, energy in mJ.")
@click.option(
    "--config", type=ConfigOption(), help="Machine whose other fields count.  [default: a preset of the chip's family]"
)
@click.option("--space", type=click.Path(path_type=Path), help="TOML file: values of each axis, as ic_p = [8, 16].")
@click.option("--machines", type=int, default=96, show_default=True, help="Machines that are compiled at most.")
@click.option("--effort", default="normal", show_default=True, help=EFFORT_HELP)
@click.option("--prove", type=click.IntRange(min=0), default=0, help="Run so many of the front on their Verilog; synthesise.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that share the work.  [default: all cores]")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers share the work and the cache folder.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder: the page, and a TOML file of each machine.")
@click.option("--toml", type=click.IntRange(min=1), help="Print the TOML of this machine of the front instead.")
@model_options()
@json_option()
def command(
    models: tuple[Path, ...], weight: tuple[float, ...] | None, chip: str | None, config: MachineConfig | None,
    constraints: tuple[str, ...], prove: int, workers: int | None, output: Path | None, toml: int | None, as_json: bool,
    luts: int | None, dsps: int | None, brams: int | None, urams: int | None, bandwidth: float | None,
    latency: float | None, clock: int | None, objective: str, space: Path | None, machines: int, effort: str,
    scheduler: str | None, average: str, **how: Any,
) -> None:  # fmt: skip
    """Find machines for networks on a chip: a Pareto front of LUTs against speed or energy.

    Bounds prune machines that cannot be on the front before anything is compiled; what is compiled stays in the cache, so an
    interrupted search goes on. Sizes and energy are estimates; --prove measures.

    \b
    Examples:
      tilewright explore --model a.onnx --chip XCK26
      tilewright explore --model a.onnx --model b.onnx --weight 2:1 --luts 40000 --dsps 400 --objective latency
      tilewright explore --model a.onnx --chip XC7Z020 --objective energy -o found/
    """
    from tilewright.exploring.exploration import explore
    from tilewright.exploring.page import files_of

    if toml is not None and (as_json or output is not None):
        raise InputError("explore --toml: prints TOML; leave --json and -o out")
    for model in models:
        if not model.exists():
            raise InputError(f"{model}: no such file; --model names an ONNX model")
    if output is not None:
        check_output(output / "explore.html", *models)
    with stage_reporter(quiet=as_json) as report:
        explored = explore(
            models, chip, objective=objective, constraints=constraints, weight=weight, average=average, luts=luts, dsps=dsps,
            brams=brams, urams=urams, bandwidth=bandwidth, latency=latency, clock=clock, config=config, space=space,
            machines=machines, effort=effort, workers=workers or all_cores(), scheduler=scheduler, prove=prove,
            sensitive=output is not None or as_json, told=report, **model_arguments(how, models[0]),
        )  # fmt: skip
        files = files_of(explored) if output is not None else {}
    if output is not None:
        write_files((output / name, text.encode()) for name, text in files.items())
    if toml is not None:
        click.echo(explored.toml(toml), nl=False)
    elif as_json:
        print_json({**explored.as_dict(), "files": [str(output / name) for name in files] if output else []})
    else:
        say(*explored.lines())
        if output is not None:
            say(f"{output / 'explore.html'}: the page; {len(files) - 1} machines as TOML beside it")
