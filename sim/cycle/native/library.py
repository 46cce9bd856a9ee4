"""The library of the execution in C++: built once by the machine's own compiler, kept beside its sources, and loaded.

    python -m sim.cycle.native.library

builds it, as `make` does; else the first compilation of a large network does, which takes some seconds.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
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


def built(*folders: Path) -> Path:
    """Its path; builds it unless it lies in one of these folders: into the first that may be
    written to. Safe for parallel processes."""
    chosen = folders or _folders()
    found = _path(chosen)
    if found is not None:
        return found
    for folder in chosen:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder / "lock"):
                return _path(chosen) or _made(folder)
    raise SimulatorError(f"cycle model: none of {', '.join(map(str, chosen))} can be written to; set XDG_CACHE_HOME")


def is_built() -> bool:
    return _path(_folders()) is not None


def loaded() -> ctypes.CDLL | None:
    """The library, if it is built and this process can load it."""
    path = _path(_folders())
    return None if path is None else _loaded(path)


@lru_cache(maxsize=1)
def _loaded(path: Path) -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    library.tilewright_run.restype = ctypes.c_bool
    return library


def _folders() -> tuple[Path, ...]:
    """Beside the sources, as it belongs to them; in the user's cache where others have installed them."""
    return HERE / "built", cache_directory() / "cycle"


def _path(folders: Sequence[Path]) -> Path | None:
    return next((path for folder in folders if (path := folder / f"{_key()}.so").exists()), None)


@lru_cache(maxsize=1)
def _key() -> str:
    digest = hashlib.sha256(repr((OPTIONS, sysconfig.get_platform(), header())).encode())
    for name in SOURCES:
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()[:24]


def _made(folder: Path) -> Path:
    compiler = require(compiler_name(brief=True), "cycle model")
    path = folder / f"{_key()}.so"
    with temporary_folder(folder) as work:
        for name in SOURCES:
            shutil.copyfile(HERE / name, work / name)
        (work / "layout.h").write_text(header())
        command = [compiler, *OPTIONS, "-o", path.name, "model.cpp"]
        run_tool(command, cwd=work, env=None, what="the build of the cycle model")
        os.rename(work / path.name, path)
    for older in folder.glob("*.so"):
        if older != path:
            older.unlink(missing_ok=True)
    return path


if __name__ == "__main__":
    try:
        print(built())
    except SimulatorError as error:
        print(f"{error}\nuntil then the cycle model runs in Python, which takes ten times as long", file=sys.stderr)
