"""Other programs, run so that nothing of them outlives an interrupted caller."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_process(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Exit status and output (both streams). Whatever ends the wait ends the program, and all that it has started."""
    with subprocess.Popen(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, output
