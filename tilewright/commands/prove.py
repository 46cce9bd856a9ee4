"""``tilewright prove``."""

from __future__ import annotations

from pathlib import Path

import click

from isa.config import MachineConfig
from tilewright.exits import Exit
from tilewright.options import config_option, json_option, print_json
from tilewright.printing import say
from tilewright.progress import stage_reporter


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@config_option(default="nano")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("proof-failures"), show_default=True,
    help="Folder for the waveform of a property that does not hold.",
)
@json_option()
def command(names: tuple[str, ...], config: MachineConfig, output: Path, as_json: bool) -> Exit:
    """Prove properties of the parts of a configuration, all or those named, and print one line for each.

    Each is proved for every input, by induction or in all runs of so many cycles from reset; then the part is broken in a
    known way, and the proof must fail. All are tried, whatever fails; exit code 1 if one of them did.

    \b
    Example:
      tilewright prove --config mine.toml
    """
    from sim.proof.proofs import run_proofs

    rows = []
    with stage_reporter(quiet=as_json) as report:
        for verdict in run_proofs(config, names, output, report):
            proof = verdict.proof
            rows.append({
                "proof": proof.name, "unit": proof.unit, "property": proof.text, "method": proof.method,
                "faults": len(proof.faults), "failure": verdict.failure, "seconds": round(verdict.seconds, 1),
            })  # fmt: skip
            report("")
            if not as_json:
                word, detail = ("FAIL", verdict.failure) if verdict.failure else ("proved", proof.text)
                say(f"{word:6}  {proof.name:20} {proof.method:22} {verdict.seconds:6.1f} s  {detail}")
    if as_json:
        print_json({"config": config.name, "proofs": rows})
    return Exit.CHECK_FAILED if any(row["failure"] for row in rows) else Exit.DONE
