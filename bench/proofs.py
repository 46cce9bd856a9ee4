"""The table of proofs in docs/results/proof.md: ``python -m bench.proofs [--config nano] [name ...]``.

A row for each proof: unit, property, how it is proved, how many ways of breaking the part it notices, and the seconds that
all of this took of the processor.
"""

from __future__ import annotations

from bench.command import command
from bench.network_table import PROOF as PAGE
from bench.network_table import put_row
from isa.config import load_config
from sim.proof.proofs import run_proofs

COLUMNS = ("configuration", "proof", "unit", "property", "method", "faults noticed", "s")


def main() -> None:
    parser = command("proofs", __doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--config", default="nano")
    arguments = parser.parse_intermixed_args()
    config = load_config(arguments.config)
    failed = False
    for verdict in run_proofs(config, arguments.names):
        proof = verdict.proof
        print(f"{proof.name}: {verdict.failure or proof.method}, {verdict.seconds:.1f} s", flush=True)
        failed |= verdict.failure is not None
        if verdict.failure is None:
            row = [config.name, proof.name, f"`{proof.unit}`", proof.text, proof.method, str(len(proof.faults))]
            put_row("Proofs", COLUMNS, [*row, f"{verdict.seconds:.0f}"], 5, PAGE)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
