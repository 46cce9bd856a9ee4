"""``tilewright place``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from isa.config import MachineConfig
from isa.estimate import beyond_chip
from tilewright.options import check_output, config_option, json_option, print_json
from tilewright.printing import say
from tilewright.progress import stage_reporter

DEVICES = ("25k", "85k")
PLACERS = ("static", "heap")
"""The placers of nextpnr. The first one makes shorter wires on a crowded chip."""


@click.command()
@config_option(default="nano")
@click.option("--device", type=click.Choice(DEVICES), default="25k", show_default=True, help="Size of the ECP5.")
@click.option("--mhz", type=click.FloatRange(min=1), help="Clock to aim at.  [default: that of the configuration]")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Another one, another placement.")
@click.option("--placer", type=click.Choice(PLACERS), default=PLACERS[0], show_default=True, help="nextpnr's placer.")
@click.option("--no-route", is_flag=True, help="Only place: faster; the clock is an estimate, and no path is told.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="Folder for netlist, logs and nextpnr's report."
)
@json_option()
def command(
    config: MachineConfig, device: str, mhz: float | None, seed: int, placer: str, no_route: bool, output: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Synthesise the machine, place and route it on an ECP5 with nextpnr; print cells, MHz and the critical path.

    Takes minutes, a third of an hour and more on a crowded chip. Ports are fed from shift registers, which are counted, too.

    \b
    Examples:
      tilewright place --config nano
      tilewright place --config mine.toml --device 85k --no-route -o build/placed
    """
    from sim.rtl.build import core_sources, core_verilog
    from sim.synthesis.place import place

    if output is not None:
        check_output(output / "report.json")
    on_device = dataclasses.replace(config, chip=f"LFE5U-{device.removesuffix('k')}F", chip_cores=1)
    if beyond := beyond_chip(on_device):
        say(f"tilewright: warning: {beyond}", err=True)
    with stage_reporter(quiet=as_json) as report:
        report(f"Verilog of {config.name}")
        verilog, sources = core_verilog(config), core_sources(config)
        placed = place(
            verilog, sources, device=device, mhz=mhz or config.clock_mhz, report=report, route=not no_route, seed=seed,
            placer=placer, folder=output,
        )  # fmt: skip
    if as_json:
        print_json({"config": config.name, **dataclasses.asdict(placed)})
        return
    done = "placed and routed" if placed.routed else "placed, routing estimated"
    say(f"{config.name} on ECP5 {placed.device}, {placed.tools}: {done}")
    for name, (used, available) in sorted(placed.cells.items(), key=lambda item: -item[1][0] / item[1][1]):
        say(f"{name:16}{used:8} of {available:6}  {used / available:5.0%}")
    behind = "the critical path:" if placed.path else "routed, the critical path is told, too"
    say(f"{placed.mhz:.1f} MHz, {placed.asked_mhz:g} asked; {behind}")
    for step in placed.path:
        source = f" ({step.point.source})" if step.point.source else ""
        say(f"{step.nanoseconds:8.2f} ns  {step.kind:10}{step.point.signal}{source}")
