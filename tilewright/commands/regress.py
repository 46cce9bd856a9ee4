"""``tilewright regress``."""

from __future__ import annotations

from pathlib import Path

import click

from isa.config import MachineConfig
from sim.campaign.run import How
from tilewright.exits import Exit
from tilewright.junit import junit_xml
from tilewright.options import campaign_options, check_output, config_option, json_option, print_json, write_file
from tilewright.printing import say
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
@click.option("--junit", type=click.Path(path_type=Path), help="File for the results as JUnit XML.")
@campaign_options()
@json_option()
def command(config: MachineConfig, simulator: str, junit: Path | None, how: How, as_json: bool) -> Exit:
    """Run the benches on the Verilog of a configuration, and print one line for each.

    All are run, whatever fails; exit code 1 if one of them did.

    \b
    Examples:
      tilewright regress --config mine.toml --simulator icarus
      tilewright regress --config mine.toml --workers 4 --junit benches.xml
    """
    from sim.rtl.regress import run_regress

    if junit:
        check_output(junit)

    rows = []
    with stage_reporter(quiet=as_json) as report:
        report("bench 1, which builds the simulator: a minute or two")
        for name, passed, text, seconds in run_regress(config, simulator, how=how):
            rows.append({"bench": name, "passed": passed, "text": text, "seconds": round(seconds, 1)})
            report("")
            if not as_json:
                say(f"{'pass' if passed else 'FAIL'}  {name:24} {seconds:6.1f} s  {text}")
            report(f"bench {len(rows) + 1}")
    if junit:
        write_file(junit, junit_xml(f"{config.name}.{simulator}", rows))
    if as_json:
        print_json({"config": config.name, "simulator": simulator, "benches": rows})
    return Exit.DONE if all(row["passed"] for row in rows) else Exit.CHECK_FAILED
