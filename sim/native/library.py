"""A library in C++: built once by the computer's own compiler, kept beside its sources, and loaded."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from isa.files import locked
from sim.rtl.build import cache_directory
from sim.rtl.compiler import compiler_name
from sim.rtl.interrupts import temporary_folder
from sim.rtl.tools import SimulatorError, require, run_tool

OPTIONS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-ffp-contract=off")
"""The compiler's options. Contraction would round a product and a sum once, where Python rounds twice."""
HEADER = "layout.h"
"""The header that is written for the sources, which holds what both languages must agree on."""


@dataclass(frozen=True)
class Library:
    """A library whose sources lie in a folder. The name of what is built depends on all that is compiled."""

    what: str
    folder: Path
    main: str
    header: Callable[[], str]
    function: str
    """The function that is called; it returns whether it succeeded."""

    @property
    def sources(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.suffix in (".h", ".cpp"))

    def built(self, *folders: Path) -> Path:
        """The path of the library, which is built unless it lies in one of these folders (its own by default).

        It is built into the first folder that can be written to. Safe for parallel processes.
        """
        chosen = folders or self.kept_in()
        found = self._path(chosen)
        if found is not None:
            return found
        for folder in chosen:
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                with locked(folder / f"{self.function}.lock"):
                    return self._path(chosen) or self._made(folder)
        raise SimulatorError(f"{self.what}: none of {', '.join(map(str, chosen))} can be written to; set XDG_CACHE_HOME")

    def is_built(self) -> bool:
        return self._path(self.kept_in()) is not None

    def loaded(self) -> ctypes.CDLL | None:
        """The library, if it is built and this process can load it."""
        path = self._path(self.kept_in())
        return None if path is None else _loaded(path, self.function)

    def kept_in(self) -> tuple[Path, ...]:
        """The folders in which it may lie: beside the sources, and in the user's cache for sources that others have
        installed."""
        return self.folder / "built", cache_directory() / "native"

    @property
    def file(self) -> str:
        """The name of the library's file."""
        return f"{self.function}-{_key(self)}.so"

    def _path(self, folders: tuple[Path, ...]) -> Path | None:
        return next((path for folder in folders if (path := folder / self.file).exists()), None)

    def _made(self, folder: Path) -> Path:
        compiler = require(compiler_name(brief=True), self.what)
        path = folder / self.file
        with temporary_folder(folder) as work:
            for source in self.sources:
                shutil.copyfile(source, work / source.name)
            (work / HEADER).write_text(self.header())
            command = [compiler, *OPTIONS, "-o", path.name, self.main]
            run_tool(command, cwd=work, env=None, what=f"the build of the {self.what}")
            os.rename(work / path.name, path)
        for older in folder.glob(f"{self.function}-*.so"):
            if older != path:
                older.unlink(missing_ok=True)
        return path


@lru_cache(maxsize=4)
def _key(library: Library) -> str:
    digest = hashlib.sha256(repr((OPTIONS, sysconfig.get_platform(), library.header())).encode())
    for source in library.sources:
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:24]


@lru_cache(maxsize=4)
def _loaded(path: Path, function: str) -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    getattr(library, function).restype = ctypes.c_bool
    return library
