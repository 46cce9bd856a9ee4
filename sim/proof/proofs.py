"""All proofs, and how to carry them out on a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from isa.config import MachineConfig
from isa.doing import Pace
from isa.names import nearest
from sim.proof import bursts, bus, counters, ports, programs, rounding, rows, streams
from sim.proof.engine import Proof, Verdict, proof_yosys, prove
from sim.proof.fault import ProofError
from sim.synthesis.tools import FIRST_RUN

MODULES = (streams, counters, bursts, programs, bus, ports, rounding, rows)
PROOFS: dict[str, Proof] = {proof.name: proof for module in MODULES for proof in module.PROOFS}
SECONDS = 0.7
"""The seconds of one core that a question to the solver takes with the tools from PyPI."""


def run_proofs(
    config: MachineConfig, names: Sequence[str] = (), trace: Path | None = None, report: Callable[[str], None] = lambda _: None
) -> Iterator[Verdict]:
    """Proves the properties with these names (all if there are none). Each proof runs when its verdict is asked for."""
    unknown = [name for name in names if name not in PROOFS]
    if unknown:
        raise ProofError(f"proof {unknown[0]!r}: unknown{nearest(unknown[0], PROOFS)}; known are {', '.join(PROOFS)}")
    proofs = [PROOFS[name] for name in names or PROOFS]
    report(f"yosys: {FIRST_RUN}")
    version = proof_yosys().version
    asked, questions = 0, sum(proof.questions for proof in proofs)
    pace = Pace(SECONDS * questions)
    for number, proof in enumerate(proofs, 1):
        report(pace.doing(f"{version}: proof {number} of {len(proofs)}, {proof.name}", asked / questions))
        yield prove(proof, config, trace=trace)
        asked += proof.questions
