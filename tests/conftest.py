"""What every test may use: golden files that ``--update-golden`` renews, Hypothesis settled for shared
machines, simulations built by the compiler that builds them sooner, and each process with its share of the cores."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from sim.campaign.cores import share_with
from sim.rtl.compiler import ONE_BUILD, compiler_name
from tests.skips import counted, held, rest_of

SELDOM = 100_000
"""New objects after which Python's collector looks at the youngest: as often as is usual, it takes a tenth of the time."""

settings.register_profile("tilewright", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("tilewright")
os.environ.setdefault("CXX", compiler_name(brief=True))  # what is simulated here takes less time than to build it
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # for tests that load onnxruntime themselves
os.environ.setdefault(ONE_BUILD, "yes")
# Without it every process has helpers, and threads that wait for work, on cores that another one uses.
share_with(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))

Golden = Callable[[Path, str], None]
"""Compares a text with a committed file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing with them")
    parser.addoption("--skips", metavar="KIND", help="fail unless as many tests are skipped as tests/skips.json has for KIND")
    parser.addoption("--skipped-to", metavar="FILE", type=Path, help="write the names of skipped tests there")
    parser.addoption("--rest-of", metavar="FILE", type=Path, help="run the slow tests, and those that the file names")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    names = config.getoption("--rest-of")
    if names is not None:
        chosen, others = rest_of(items, names.read_text().splitlines())
        config.hook.pytest_deselected(items=others)
        items[:] = chosen


def _skipped(config: pytest.Config) -> list[pytest.TestReport]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    assert reporter is not None
    found: list[pytest.TestReport] = reporter.stats.get("skipped", [])
    return found


def _skips(config: pytest.Config) -> tuple[dict[str, int], list[str]]:
    """How many tests were skipped for each reason, and what of that was not expected."""
    found = counted(_skipped(config))
    kind = config.getoption("--skips")
    return found, held(found, kind, config.getoption("--update-golden")) if kind else []


def _told(config: pytest.Config) -> list[str]:
    """What tests recorded: seeds that differ from run to run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    assert reporter is not None
    reports = [report for name in ("passed", "failed") for report in reporter.stats.get(name, []) if report.when == "call"]
    return [f"{report.nodeid}: {name} {value}" for report in reports for name, value in report.user_properties]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In the process that prints, not in those that run tests for it."""
    config = session.config
    if hasattr(config, "workerinput"):
        return
    if config.getoption("--skipped-to") is not None:
        config.getoption("--skipped-to").write_text("".join(f"{report.nodeid}\n" for report in _skipped(config)))
    if session.exitstatus == 0 and _skips(config)[1]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found, unexpected = _skips(config)
    for title, lines in (
        ("skipped, by reason", [f"{count:6}  {reason}" for reason, count in found.items()]),
        ("numbers of skipped tests that were not expected (tests/skips.json)", unexpected),
        ("told by tests", _told(config)),
    ):
        if lines:
            terminalreporter.section(title)
            terminalreporter.write_line("\n".join(lines))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """A test that goes through many seeds says at which one it failed."""
    report: Any = yield
    if call.excinfo is not None and report.failed:
        seeds = [entry.frame.f_locals["seed"] for entry in call.excinfo.traceback if "seed" in entry.frame.f_locals]
        report.sections += [("seed", str(seeds[0]))] if seeds else []
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays: nobody looks for garbage in it, neither now nor while tests run."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    gc.set_threshold(SELDOM)
    return found


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


@pytest.fixture(scope="session")
def synthesised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of all tests that map one small design as it is: a family's library takes yosys seconds to read."""
    return tmp_path_factory.mktemp("synthesised")
