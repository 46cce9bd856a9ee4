"""``tilewright regress``."""

from __future__ import annotations

import click

from isa.config import MachineConfig
from tilewright.exits import Exit
from tilewright.options import config_option


@click.command()
@config_option()
@click.option(
    "--simulator",
    type=click.Choice(["verilator", "icarus"]),
    default="verilator",
    show_default=True,
    help="What runs the Verilog.",
)
def command(config: MachineConfig, simulator: str) -> Exit:
    """Run the benches on the Verilog of a configuration, and print one line for each.

    Exit code 1 if one of them fails.

    \b
    Example:
      tilewright regress --config mine.toml --simulator icarus
    """
    from sim.rtl.regress import run_regress

    return Exit.DONE if run_regress(config, simulator, report=click.echo) else Exit.CHECK_FAILED
