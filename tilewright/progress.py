"""Progress on stderr while something lasts; nothing where nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

Report = Callable[[str], None]


@contextmanager
def stage_reporter(quiet: bool = False) -> Iterator[Report]:
    """Shows the running stage and the seconds since the start, on one line, if stderr is a terminal."""
    shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
    since = time.perf_counter()

    def report(stage: str) -> None:
        if shown:
            click.echo(f"\r\033[K{time.perf_counter() - since:6.1f} s  {stage}", nl=False, err=True)

    try:
        yield report
    finally:
        if shown:
            click.echo("\r\033[K", nl=False, err=True)
