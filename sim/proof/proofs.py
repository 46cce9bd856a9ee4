"""All proofs, and how to carry them out on a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from isa.config import MachineConfig
from sim.proof import bursts, bus, counters, programs, rounding, streams
from sim.proof.engine import Proof, Verdict, prove
from sim.proof.fault import ProofError

MODULES = (streams, counters, bursts, programs, bus, rounding)
PROOFS: dict[str, Proof] = {proof.name: proof for module in MODULES for proof in module.PROOFS}


def run_proofs(config: MachineConfig, names: Sequence[str] = (), trace: Path | None = None) -> Iterator[Verdict]:
    """Prove what the names say (all without any), each as soon as it is asked for."""
    unknown = [name for name in names if name not in PROOFS]
    if unknown:
        raise ProofError(f"proof {unknown[0]!r}: unknown; known are {', '.join(PROOFS)}")
    for name in names or PROOFS:
        yield prove(PROOFS[name], config, trace=trace)
