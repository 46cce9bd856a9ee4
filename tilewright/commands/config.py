"""``tilewright config``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from isa.blocks import blocks
from isa.chips import SPARE, chip_of
from isa.config import PRESETS, MachineConfig
from isa.estimate import beyond_chip, beyond_memory, estimate
from isa.suggest import suggestions
from tilewright.names import SuggestingGroup
from tilewright.options import ConfigOption, check_output, json_option, print_json, write_files
from tilewright.printing import say

SPARE_PERCENT = round(100 * SPARE)
MOST = 5
"""The most machines that are suggested."""


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Show and list machine configurations.

    A configuration is a preset or a TOML file. A file may start from a preset and change some fields:

    \b
      base = "nano"
      name = "mine"
      oc_p = 8

    \b
    Examples:
      tilewright config list
      tilewright config show base > mine.toml
    """


@command.command("list")
@json_option()
def list_(as_json: bool) -> None:
    """List the presets.

    \b
    Example:
      tilewright config list --json
    """
    if as_json:
        print_json({"configurations": [_summary(config) for config in PRESETS.values()]})
        return
    for config in PRESETS.values():
        say(
            f"{config.name:6}{config.ic_p:3} x {config.oc_p:2} x {config.px_p}{config.macs_per_cycle:6} MAC/cycle"
            f"{config.on_chip_bytes // 1024:6} KiB{config.axi_data_bits:5} bit AXI  {config.hash:#010x}  {_chip(config)}"
        )


@command.command()
@click.argument("config", type=ConfigOption())
@json_option()
def show(config: MachineConfig, as_json: bool) -> None:
    """Print CONFIG, a preset or a TOML file, with every field: as TOML, to be changed and given to --config.

    \b
    Example:
      tilewright config show base > mine.toml
    """
    if as_json:
        print_json({**dataclasses.asdict(config), **_summary(config)})
        return
    for beyond in filter(None, (beyond_chip(config), beyond_memory(config))):
        say(f"# {beyond}")
    for held in blocks(config):
        if held.depth < held.holds:
            say(f"# {held}")
    click.echo(config.to_toml(), nl=False)


@command.command()
@click.option("--chip", metavar="NAME", required=True, help="A chip that is known, or a TOML file with a table [chip].")
@click.option("--model", type=click.Path(path_type=Path), help="Model whose time decides.")
@click.option("--spare", type=click.IntRange(0, 90), default=SPARE_PERCENT, show_default=True, help="Percent of LUTs to leave.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="TOML file for the first machine of the list.")
@json_option()
def suggest(chip: str, model: Path | None, spare: int, output: Path | None, as_json: bool) -> None:
    """Name machines that fit a chip: the largest first, or, with --model, the fastest.

    Sizes are estimates, each with the error that was met; `tilewright size` synthesises. Calibrates with noise.
    The quick form of `tilewright explore`, which searches all lanes, buffers and buses.

    \b
    Examples:
      tilewright config suggest --chip XCZU3EG
      tilewright config suggest --chip XCK26 --model model.onnx -o mine.toml
    """
    from tilewright.suggested import described_chip, timed

    if output:
        check_output(output, model)
    found = suggestions(described_chip(chip), spare / 100)[:MOST]
    rows = timed(model, found) if model else [(one, None) for one in found]
    best = rows[0][0].config
    if as_json:
        times = ({"estimated_cycles": time and time[0], "ms_on_machine": time and time[1]} for _, time in rows)
        told = [{**_summary(one.config), **each} for (one, _), each in zip(rows, times, strict=True)]
        print_json({"chip": chip, "suggestions": told})
    else:
        for one, time in rows:
            machine = one.config
            sizes = ", ".join(f"{size.number:,.0f} {size.kind} (within {size.error:.0%})" for size in one.sizes)
            took = "" if time is None else f"{time[0]:>12,} cycles"
            say(f"{machine.name:16}{machine.macs_per_cycle:6} MAC/cycle{machine.on_chip_bytes // 1024:6} KiB{took}  {sizes}")
    if output:
        write_files([(output, best.to_toml().encode())])


def _chip(config: MachineConfig) -> str:
    """A chip in a line: ``2 on XCZU9EG: 274,080 LUT, ...``."""
    chip = chip_of(config.chip)
    if chip is None:
        return "for no chip"
    holds = ", ".join(f"{number:,} {kind}" for kind, number in chip.capacity.items())
    return f"{config.chip_cores} on {chip.name}: {holds}"


def _summary(config: MachineConfig) -> dict[str, object]:
    chip = chip_of(config.chip)
    return {
        "name": config.name,
        "macs_per_cycle": config.macs_per_cycle,
        "on_chip_bytes": config.on_chip_bytes,
        "hash": config.hash,
        "chip": config.chip,
        "chip_cores": config.chip_cores,
        "capacity": chip.capacity if chip else {},
        "estimate": _estimates(config),
        "beyond_chip": beyond_chip(config),
        "beyond_memory": beyond_memory(config),
        "blocks": [dataclasses.asdict(held) for held in blocks(config)],
    }


def _estimates(config: MachineConfig) -> dict[str, dict[str, float]]:
    chip = chip_of(config.chip)
    found = estimate(config, chip.family) if chip else []
    return {one.kind: {"number": round(one.number, 1), "error": one.error} for one in found}
