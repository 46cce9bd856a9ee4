"""The lock file: exact, hashed, and complete for what ``pyproject.toml`` asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]


def asked_for() -> list[str]:
    extras = [EXTRAS[extra] for extra in EXTRAS if extra != "all"]
    lists = [PROJECT["project"]["dependencies"], *extras, *PROJECT["dependency-groups"].values()]
    return [re.split(r"[ <>=]", requirement)[0] for requirements in lists for requirement in requirements]


def test_all_is_every_other_extra() -> None:
    assert EXTRAS["all"] == [f"tilewright[{','.join(extra for extra in EXTRAS if extra not in ('all', 'docs'))}]"]


def test_everything_asked_for_is_locked() -> None:
    locked = set(re.findall(r"^([a-z0-9-]+)==", LOCK, re.MULTILINE))
    assert {name.replace(".", "-") for name in asked_for()} <= locked


def test_every_line_is_an_exact_version_or_a_hash() -> None:
    for line in LOCK.splitlines():
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [\w\s.<>=!'\"]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line), line


def test_every_dependency_has_its_reason_beside_it() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    for name in asked_for():
        (line,) = (line for line in lines if line.startswith(f'    "{name} '))
        assert re.search(r'",\s+# \S+', line), line
