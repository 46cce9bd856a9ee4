"""``tilewright config``."""

from __future__ import annotations

import dataclasses

import click

from isa.chips import chip_of
from isa.config import PRESETS, MachineConfig
from isa.estimate import beyond_chip, estimate
from tilewright.names import SuggestingGroup
from tilewright.options import ConfigOption, json_option, print_json
from tilewright.printing import say


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
    if beyond := beyond_chip(config):
        say(f"# {beyond}")
    click.echo(config.to_toml(), nl=False)


def _chip(config: MachineConfig) -> str:
    """``2 on XCZU9EG: 274,080 LUT, ...``."""
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
    }


def _estimates(config: MachineConfig) -> dict[str, dict[str, float]]:
    chip = chip_of(config.chip)
    found = estimate(config, chip.family) if chip else []
    return {one.kind: {"number": round(one.number, 1), "error": one.error} for one in found}
