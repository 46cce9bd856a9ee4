"""A plugin of pytest that notes which tests run which lines, and a choice among the tests by these lines.

``pytest -p bench.covering tests/...`` with ``COVERING_FOLDER`` (sources) and ``COVERING_FILE`` (the file to write) in the
environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

FOLDER, FILE = "COVERING_FOLDER", "COVERING_FILE"


@dataclass(frozen=True)
class Covering:
    """The tests of a folder, and the lines of its sources that each one runs."""

    seconds: Mapping[str, float]
    """The seconds of each test, the noting of lines included."""
    lines: Mapping[str, Mapping[int, Sequence[str]]]
    """The tests by path and line."""

    def tests_of(self, path: str, lines: Sequence[int]) -> list[str]:
        """The tests that run one of the lines, the quickest first, then the others of their files.

        Those may share what the first have computed (fixtures of a module, caches), so that the lines ran only in the first
        that asked.
        """
        found = {test for line in lines for test in self.lines.get(path, {}).get(line, ())}
        files = {_file(test) for test in found}
        beside = {test for test in self.seconds if _file(test) in files} - found
        return [test for tests in (found, beside) for test in sorted(tests, key=lambda test: (self.seconds[test], test))]

    def tests_of_file(self, path: str) -> list[str]:
        return self.tests_of(path, list(self.lines.get(path, {})))


def _file(test: str) -> str:
    return test.partition("::")[0]


class _Tracer:
    """Notes the lines of the folder that run in any thread.

    A function that showed nothing new in so many calls of one test is left alone for the rest of it. What it does seldom, other
    tests do first.
    """

    PATIENCE = 40

    def __init__(self, folder: Path) -> None:
        self.folder = f"{folder}{os.sep}"
        self.take()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self.folder):
            return None
        seen = self.seen[code.co_filename]
        known, quiet = self.known.get(code, (-1, 0))
        if quiet > self.PATIENCE:
            return None
        self.known[code] = (len(seen), quiet + 1 if known == len(seen) else 0)
        seen.add(frame.f_lineno)

        def line(inner: FrameType, what: str, _: Any) -> Any:
            if what == "line":
                seen.add(inner.f_lineno)
            return line

        return line

    def take(self) -> dict[str, set[int]]:
        """Returns the lines seen since the last call. Functions that still run add their lines to what was returned."""
        seen: dict[str, set[int]] = getattr(self, "seen", {})
        self.seen: dict[str, set[int]] = defaultdict(set)
        self.known: dict[CodeType, tuple[int, int]] = {}
        """For each function the number of lines of its file that were known when it was called last, and its calls since a new
        one."""
        return seen


class Plugin:
    def __init__(self, root: Path, folder: str, file: Path) -> None:
        self.root, self.file = root, file
        self.tracer = _Tracer(root / folder)
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        start = time.process_time()
        self.tracer.take()
        sys.settrace(self.tracer)
        threading.settrace(self.tracer)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            self.seconds[item.nodeid] = time.process_time() - start
            for name, lines in self.tracer.take().items():
                of_file = self.lines[Path(name).relative_to(self.root).as_posix()]
                for line in lines:
                    of_file[line].append(item.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps({"seconds": self.seconds, "lines": self.lines}))


def pytest_configure(config: pytest.Config) -> None:
    if FILE in os.environ:
        config.pluginmanager.register(Plugin(Path.cwd(), os.environ[FOLDER], Path(os.environ[FILE])), "noting lines")


def covering(root: Path, folder: str, tests: Sequence[str], kept: Path) -> Covering:
    """The lines of the sources in ``folder`` that the tests run. They are kept in a file of the folder ``kept`` for these
    sources and tests."""
    digest = hashlib.sha256(repr((folder, tests)).encode())
    for part in (folder, *tests):
        path = root / part
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(source.read_bytes())
    file = (kept / f"covering-{digest.hexdigest()[:16]}.json").absolute()
    if not file.exists():
        kept.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, FOLDER: folder, FILE: str(file), "PYTHONPATH": str(root)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "bench.covering", *tests]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            file.unlink(missing_ok=True)
            raise SystemExit(f"{folder}: its tests fail without a mutant:\n{done.stdout[-2000:]}")
    read = json.loads(file.read_text())
    lines = {path: {int(line): found for line, found in of.items()} for path, of in read["lines"].items()}
    return Covering(read["seconds"], lines)
