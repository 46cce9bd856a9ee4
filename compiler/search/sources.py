"""The files of this project that a module depends on."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("compiler", "isa", "sim")
_IMPORT = re.compile(
    rf"^\s*(?:from|import) +((?:{'|'.join(PACKAGES)})\b[\w.]*)(?: +import +(\([^)]*\)|.*))?", re.MULTILINE
)


def sources_of(module: str) -> dict[str, Path]:
    """The files of a module and of all modules that it imports, directly or not, by the names of the modules."""
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _file(name)
        if path is not None:
            found[name] = path
            for package, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
                waiting += [package, *(f"{package}.{each}" for each in re.findall(r"\w+", names))]
    return found


def _file(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
