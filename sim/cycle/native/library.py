"""The library of the execution in C++: built once by the machine's own compiler, kept in the cache, and loaded.

    python -m sim.cycle.native.library

builds it ahead; else whoever runs the first program does, which takes some seconds.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

from sim.cycle.native.layout import header
from sim.rtl.build import SimulatorError, cache_directory, locked, require, run_tool
from sim.rtl.compiler import compiler_name
from sim.rtl.interrupts import temporary_folder

HERE = Path(__file__).parent
OPTIONS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-ffp-contract=off")
"""``contract``: a product and a sum in one instruction are rounded once, where Python rounds twice."""
SOURCES = ("model.cpp", "numbers.h", "trails.h", "bus.h", "contest.h", "words.h", "units.h", "movers.h", "control.h")
Ask = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))
"""Of a walk by its number its masks, and how many they are."""


def path_of_library(cache: Path | str | None = None) -> Path:
    """Where it is, or will be."""
    return cache_directory(cache) / "cycle" / f"{_key()}.so"


def built(cache: Path | str | None = None) -> Path:
    """Its path; builds it unless the cache has it. Safe for parallel processes."""
    path = path_of_library(cache)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_suffix(".lock")):
            if not path.exists():
                _make(path)
    return path


@lru_cache(maxsize=1)
def loaded() -> ctypes.CDLL | None:
    """The library; None where it can be neither built nor kept nor loaded."""
    try:
        library = ctypes.CDLL(str(built()))
    except (SimulatorError, OSError):
        return None
    library.tilewright_run.restype = ctypes.c_bool
    return library


@lru_cache(maxsize=1)
def _key() -> str:
    digest = hashlib.sha256(repr((OPTIONS, sysconfig.get_platform(), header())).encode())
    for name in SOURCES:
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()[:24]


def _make(path: Path) -> None:
    compiler = require(compiler_name(brief=True), "cycle model")
    with temporary_folder(path.parent) as work:
        for name in SOURCES:
            shutil.copyfile(HERE / name, work / name)
        (work / "layout.h").write_text(header())
        command = [compiler, *OPTIONS, "-o", path.name, "model.cpp"]
        run_tool(command, cwd=work, env=None, what="the build of the cycle model")
        os.rename(work / path.name, path)


if __name__ == "__main__":
    try:
        print(built())
    except (SimulatorError, OSError) as error:
        print(f"{error}\nuntil then the cycle model runs in Python, which takes ten times as long", file=sys.stderr)
