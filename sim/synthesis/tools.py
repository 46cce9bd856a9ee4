"""The open tools: native where they are on PATH, else those of the optional group ``flow``."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from isa.errors import TilewrightError
from sim.rtl.process import run_process

INSTALL = "pip install 'tilewright[flow]'"
WORDS_OF_AN_ERROR = ("ERROR", "Error", "error:", "terminate called", "wasm trap")


class SynthesisError(TilewrightError):
    """A tool that is missing or failed, or a netlist that nobody understands."""


@dataclass(frozen=True)
class Tool:
    """A program that can be run."""

    name: str
    path: str

    @functools.cached_property
    def version(self) -> str:
        """Name and number, as ``yosys 0.23``; part of the key of everything that it makes."""
        flag = "-V" if self.name == "yosys" else "--version"
        done = subprocess.run([self.path, flag], capture_output=True, text=True, check=False)
        found = re.search(r"(?:Yosys |nextpnr-)(\d[\w.+-]*)", done.stdout + done.stderr)
        return f"{self.name} {found[1] if found else 'of unknown version'}"

    def run(self, arguments: list[str], cwd: Path, tick: Callable[[], None] | None = None) -> str:
        """Run it, and return what it printed; its own words are the error if it fails."""
        status, output = run_process([self.path, *arguments], cwd, tick=tick)
        if status:
            said = [line.strip() for line in output.splitlines() if line.strip()]
            cause = next((line for line in reversed(said) if any(word in line for word in WORDS_OF_AN_ERROR)), "")
            raise SynthesisError(f"{self.name} failed with status {status}: {cause or (said or ['it printed nothing'])[-1]}")
        return output


def find_tool(name: str) -> Tool:
    """``yosys`` or ``nextpnr-ecp5``: native, or the WebAssembly build from PyPI, beside this Python or on PATH."""
    beside = Path(sys.executable).parent / f"yowasp-{name}"
    path = shutil.which(name) or shutil.which(f"yowasp-{name}") or (str(beside) if beside.exists() else None)
    if path is None:
        raise SynthesisError(f"program {name}: not on PATH, nor is yowasp-{name}; install one: {INSTALL}")
    return Tool(name, path)
