"""The open tools of the optional group ``flow``. Native tools serve as a second opinion where they are asked for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from isa.errors import TilewrightError
from isa.files import locked
from sim.rtl.build import cache_directory
from sim.rtl.process import run_process

INSTALL = "pip install 'tilewright[flow]'"
NATIVE = "TILEWRIGHT_NATIVE"
"""The environment variable with the names, separated by commas, of the tools that are to be native."""
TRIED = {
    "yosys": "yosys 0.70 from PyPI, native 0.23",
    "nextpnr-ecp5": "nextpnr-ecp5 0.11.1 from PyPI, native 0.11.1",
    "ecppack": "ecppack 1.4 from PyPI",
}
"""The versions that the use of each tool was tried with."""
FIRST_RUN = "the first run of a tool from PyPI translates it, which takes a minute or two"
WORDS_OF_AN_ERROR = ("ERROR", "Error", "error:", "terminate called", "wasm trap")
LAST_LINES = 4
LOG = "yosys.log"
"""yosys' own log. yosys from PyPI writes nothing elsewhere once ``abc`` has run, not even why it fails."""


class SynthesisError(TilewrightError):
    """Raised for a tool that is missing or failed, or for a netlist that cannot be understood."""


@dataclass(frozen=True)
class Tool:
    """A program that can be run."""

    name: str
    path: str

    @property
    def version(self) -> str:
        """The name and version, as ``yosys 0.23``. It is part of the key of everything that the tool makes."""
        return _version(self.name, self.path)

    def run(self, arguments: list[str], cwd: Path, tick: Callable[[], None] | None = None) -> str:
        """Runs it; returns what it printed. If it fails, the error has the tool's own words."""
        version = self.version
        log = cwd / LOG
        if self.name == "yosys":
            log.unlink(missing_ok=True)
            arguments = ["-l", LOG, *arguments]
        status, output = run_process([self.path, *arguments], cwd, tick=tick)
        if status:
            logged = log.read_text(errors="replace") if self.name == "yosys" and log.exists() else ""
            raise SynthesisError(
                f"{version} ({self.path}): failed with status {status}: {last_words(output, logged)}; "
                f"if it is that version: this was tried with {TRIED[self.name]}"
            )
        return output


def last_words(*texts: str) -> str:
    """Why a tool failed: the last line of an error in what it printed or logged, and the lines before it."""
    for text in texts:
        said = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [number for number, line in enumerate(said) if any(word in line for word in WORDS_OF_AN_ERROR)]
        if errors:
            return " | ".join(said[max(0, errors[-1] + 1 - LAST_LINES) : errors[-1] + 1])
    said = [line.strip() for line in "\n".join(texts).splitlines() if line.strip()]
    return " | ".join(said[-LAST_LINES:]) or "it printed and logged nothing, as a program does that is ended or has no memory"


@cache
def _version(name: str, path: str) -> str:
    """The version that the tool tells. One process at a time asks, since a first run of a tool from PyPI writes its translation
    where all read it."""
    flag = "-V" if name == "yosys" else "--version"
    folder = cache_directory()
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "tools.lock"):
        done = subprocess.run([path, flag], capture_output=True, text=True, check=False)
    found = re.search(r"(?:Yosys |nextpnr-|ecppack Version )(\d[\w.+-]*)", done.stdout + done.stderr)
    return f"{name} {found[1] if found else 'of unknown version'}"


def find_tool(name: str) -> Tool:
    """Finds ``yosys``, ``nextpnr-ecp5`` or ``ecppack``.

    This is the WebAssembly build from PyPI, which is pinned, beside this Python or on PATH. It is the native tool where that
    build is missing, or where ``TILEWRIGHT_NATIVE`` names the tool.
    """
    native, beside = shutil.which(name), Path(sys.executable).parent / f"yowasp-{name}"
    if name in os.environ.get(NATIVE, "").replace(",", " ").split():
        if native is None:
            raise SynthesisError(f"program {name}: {NATIVE} asks for a native one, none is on PATH; install one, or unset it")
        return Tool(name, native)
    path = str(beside) if beside.exists() else shutil.which(f"yowasp-{name}") or native
    if path is None:
        raise SynthesisError(f"program {name}: not on PATH, nor is yowasp-{name}; install one: {INSTALL}")
    return Tool(name, path)
