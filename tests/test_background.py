"""The tests that send signals pass where the suite was started with SIGINT ignored: ``make test &``, ``nohup``."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SENDING = ("tests/sim/rtl/test_rtl_process.py", "tests/sim/rtl/test_rtl_interrupts.py")
INTERRUPTING = "tests/tilewright/test_interrupts.py"
"""With a case for each command, of which one is enough here."""
KILLING = (
    "tests/sim/campaign/test_campaign.py", "tests/compiler/search/test_crew.py", "tests/tilewright/test_stuck_library.py",
)  # fmt: skip
"""Only send what nobody can ignore."""
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
"""By a shell without job control for what is in the background, and by nohup."""


def ignore() -> None:
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)


@pytest.mark.parametrize("tests", [[*SENDING], [INTERRUPTING, "-k", "functional_simulation"]], ids=["sending", "interrupting"])
def test_signals_arrive_in_a_suite_that_ignores_them(tests: list[str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, preexec_fn=ignore
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_no_other_test_sends_signals() -> None:
    sends = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in ("os.kill(", "raise_signal(", "send_signal(", "setitimer("))
    }
    assert sends - {"tests/test_background.py"} == {*SENDING, INTERRUPTING, *KILLING}
