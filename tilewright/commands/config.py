"""``tilewright config``."""

from __future__ import annotations

import dataclasses
import json

import click

from isa.config import PRESETS, MachineConfig
from tilewright.options import ConfigOption, json_option, print_json


@click.group()
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
        print_json([_summary(config) for config in PRESETS.values()])
        return
    for config in PRESETS.values():
        click.echo(
            f"{config.name:6}{config.ic_p:3} x {config.oc_p:2} x {config.px_p}{config.macs_per_cycle:6} MAC/cycle"
            f"{config.on_chip_bytes // 1024:6} KiB{config.axi_data_bits:5} bit AXI  {config.hash:#010x}"
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
    for name, value in dataclasses.asdict(config).items():
        click.echo(f"{name} = {json.dumps(value, ensure_ascii=False)}")


def _summary(config: MachineConfig) -> dict[str, object]:
    return {
        "name": config.name,
        "macs_per_cycle": config.macs_per_cycle,
        "on_chip_bytes": config.on_chip_bytes,
        "hash": config.hash,
    }
