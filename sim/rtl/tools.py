"""The programs that build and run simulations: how they are found and run, and the errors if one is missing or fails."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from isa.errors import TilewrightError
from sim.rtl.process import run_process

INSTALL = {
    "g++": "apt install g++",
    "make": "apt install make",
    "iverilog": "apt install iverilog",
    "vvp": "apt install iverilog",
}


class SimulatorError(TilewrightError):
    """Raised for a simulator that cannot be found, built or run."""


class MissingToolError(SimulatorError):
    """Raised when a program or a package that a simulator needs is not installed. What was to be simulated is not at fault."""


def require(tool: str, simulator: str) -> str:
    """The path of a program that must be on PATH."""
    path = shutil.which(tool)
    if path is None:
        remedy = f"install it, for example: {INSTALL[tool]}" if tool in INSTALL else "the environment's CXX names it"
        raise MissingToolError(f"simulator {simulator}: the program {tool!r} is not on PATH; {remedy}")
    return path


def run_tool(command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None, what: str) -> None:
    """Runs a build step. On failure the error shows the end of what it printed."""
    status, output = run_process(command, cwd, env)
    if status:
        tail = "\n".join(output.splitlines()[-25:])
        raise SimulatorError(f"{what} failed with status {status}; the end of its output:\n{tail}")
