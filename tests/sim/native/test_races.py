"""The libraries in C++ under ThreadSanitizer: sessions in several threads use one of each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RACES = 66
"""The exit code of a process in which there was one."""


def told(library: str, folder: Path) -> tuple[int, str, str]:
    found = subprocess.run(["g++", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True)
    # Python and NumPy are not made for the sanitizer: it is to look at the library alone.
    sanitizer = {"LD_PRELOAD": found.stdout.strip(), "TSAN_OPTIONS": f"exitcode={RACES} ignore_noninstrumented_modules=1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim.native.races", library, str(folder)], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, **sanitizer, "CXX": "g++"}, timeout=600, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed: apt-get install g++")


@pytest.mark.slow
@pytest.mark.parametrize("library", ["cycle_model", "scheduler"])
def test_four_threads_share_a_library(library: str, tmp_path: Path) -> None:
    assert told(library, tmp_path) == (0, "all as expected\n", "")


def test_a_race_would_be_found(tmp_path: Path) -> None:
    code, _, err = told("racing", tmp_path)
    assert code == RACES
    assert "data race" in err
