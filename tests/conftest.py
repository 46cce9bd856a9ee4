"""What every test may use: golden files that ``--update-golden`` renews, Hypothesis settled for shared
machines, and simulations built by the compiler that builds them sooner."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sim.rtl.compiler import compiler_name

settings.register_profile("tilewright", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("tilewright")
os.environ.setdefault("CXX", compiler_name(brief=True))  # what is simulated here takes less time than to build it

Golden = Callable[[Path, str], None]
"""Compares a text with a committed file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing with them")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """``golden(path, text)``: the file holds that text; ``--update-golden`` makes it so."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        assert found == text, f"{path} is not current; look at the difference, then run pytest with --update-golden"

    return compare
