"""The second process: a fork of this one that works through the same list from its other end.

Three kinds of work take nearly all of a compilation: plans of groups, walks of pairs of groups, and stretches of programs on
the cycle model. Each comes in lists of independent items. A fork knows all that this process knows, so an item is a few
numbers, and so is a result. Both processes compute the same for an item, and results come in the order of the items. So a
program does not depend on the number of processes.
"""

from __future__ import annotations

import gc
import mmap
import os
import signal
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from types import TracebackType
from typing import Any, Generic, TypeVar

from sim.campaign.cores import cores_allowed

Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE = 60.0
"""Seconds without an answer after which a helper is given up. This process then does its items, with the same results."""


class Crew:
    """The helpers of one compilation. There are none where one core is allowed, or where forking is not safe."""

    def __init__(self, cores: int = 1) -> None:
        self.cores = cores
        self._teams: list[Team[Any, Any]] = []

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for team in self._teams:
            team.close()

    def team(self, work: Callable[[Item], Result]) -> Team[Item, Result]:
        """The processes that do this work: this one and, if possible, a helper.

        The helper starts with the first list of items, and knows what this process knows then.
        """
        made = Team(work, may_start=self.cores > 1)
        self._teams.append(made)
        return made


def crew_allowed() -> Crew:
    """A crew as large as the environment and the machine allow."""
    return Crew(cores_allowed())


def may_fork() -> bool:
    """Whether this process may fork: not if an application has other threads, which may be compiling, too.

    A fork has none of the other threads, but all locks that they held. The thread that shows progress, and those of
    onnxruntime and BLAS, hold no lock that a helper needs.
    """
    others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
    return hasattr(os, "fork") and all(thread.daemon for thread in others)


class Team(Generic[Item, Result]):
    """The processes that do one kind of work: this process and, as long as it lives, its helper."""

    def __init__(self, work: Callable[[Item], Result], may_start: bool) -> None:
        self._work, self._may_start = work, may_start
        self.helper: int | None = None
        """The process of the helper while it lives. It starts with the first list of several items."""

    def each(self, items: Sequence[Item]) -> list[Result]:
        """The result of each item. Both processes may do an item in the middle of the list at the same time."""
        if self._may_start and len(items) > 1:
            self._may_start = False
            if may_fork():
                self._start()
        if self.helper is None or len(items) < 2:
            return [self._work(item) for item in items]
        found: dict[int, Result] = {}
        begun = self._begun
        begun[0], begun[1] = 0, len(items) - 1
        try:
            self._connection.send(items)
            for number, item in enumerate(items):
                if number >= begun[1]:
                    break
                begun[0] = number
                found[number] = self._work(item)
            if not self._connection.poll(PATIENCE):
                raise TimeoutError
            found |= self._connection.recv()
        except (EOFError, OSError):
            self.close()
        except BaseException:
            # A late answer of the helper would be taken for the answer to the next list.
            self.close()
            raise
        return [found[n] if n in found else self._work(item) for n, item in enumerate(items)]

    def close(self) -> None:
        """Ends the helper, whatever it does."""
        if self.helper is not None:
            self._connection.close()
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.helper, signal.SIGKILL)
                os.waitpid(self.helper, 0)
            self.helper = None

    def _start(self) -> None:
        self._begun = memoryview(mmap.mmap(-1, 16)).cast("q")
        """The number of the last item that this process began, and of the last that the helper began. They share these."""
        ours, theirs = Pipe()
        with warnings.catch_warnings():
            # From Python 3.12 on, fork warns of all threads; ``may_fork`` has looked at them.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                child = os.fork()
            except OSError:
                child = -1
        if child == 0:
            ours.close()
            _help(self._work, theirs, self._begun)
        theirs.close()
        if child > 0:
            self.helper, self._connection = child, ours
        else:
            ours.close()


def _help(work: Callable[[Any], Any], connection: Connection[Any, Any], begun: memoryview[int]) -> None:
    """Runs in the helper until it gets no more work. If an item fails, the asking process does it and sees the error."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.freeze()
        while True:
            items = connection.recv()
            found = {}
            for number in reversed(range(len(items))):
                if number <= begun[0]:
                    break
                begun[1] = number
                with suppress(Exception):
                    found[number] = work(items[number])
            connection.send(found)
    except (EOFError, OSError):
        pass
    finally:
        # The helper must not flush buffers or run exit handlers: they belong to the asking process.
        os._exit(0)
