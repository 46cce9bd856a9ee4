"""``tilewright regress``."""

from __future__ import annotations

import click

from isa.config import MachineConfig
from tilewright.exits import Exit
from tilewright.options import config_option, json_option, print_json
from tilewright.progress import stage_reporter


@click.command()
@config_option()
@click.option(
    "--simulator",
    type=click.Choice(["verilator", "icarus"]),
    default="verilator",
    show_default=True,
    help="What runs the Verilog.",
)
@json_option()
def command(config: MachineConfig, simulator: str, as_json: bool) -> Exit:
    """Run the benches on the Verilog of a configuration, and print one line for each.

    All are run, whatever fails; exit code 1 if one of them did.

    \b
    Example:
      tilewright regress --config mine.toml --simulator icarus
    """
    from sim.rtl.regress import run_regress

    rows = []
    with stage_reporter(quiet=as_json) as report:
        report("bench 1, which builds the simulator: a minute or two")
        for name, passed, text, seconds in run_regress(config, simulator):
            rows.append({"bench": name, "passed": passed, "text": text, "seconds": round(seconds, 1)})
            report("")
            if not as_json:
                click.echo(f"{'pass' if passed else 'FAIL'}  {name:24} {seconds:6.1f} s  {text}")
            report(f"bench {len(rows) + 1}")
    if as_json:
        print_json({"config": config.name, "simulator": simulator, "benches": rows})
    return Exit.DONE if all(row["passed"] for row in rows) else Exit.CHECK_FAILED
