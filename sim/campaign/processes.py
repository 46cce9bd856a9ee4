"""Workers that are processes of this machine. Each does one item at a time, and a new one replaces each that dies."""

from __future__ import annotations

import math
import multiprocessing
import pickle
import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import Any

from sim.campaign.cores import share_with
from sim.campaign.waiting import Waiting
from sim.campaign.work import ATTEMPTS, Lost, Work

BEGUN = b"begun"
"""The message of a worker that has begun an item."""
PATIENCE = 20.0
"""The seconds that a worker has to end what it has started when it is told to end."""


def on_processes(
    work: Work, items: Sequence[Any], waiting: Waiting, workers: int, seconds: float | None
) -> Iterator[tuple[int, Any]]:
    """Yields the numbers of items and their results, in the order in which they come."""
    deaths: dict[int, int] = {}
    crew: list[_Worker] = []
    try:
        crew.extend(_Worker(work, workers) for _ in range(workers))
        while waiting or any(worker.number is not None for worker in crew):
            for worker in crew:
                if worker.number is None and waiting:
                    number = waiting.take(worker.before, [other.number for other in crew if other.number is not None])
                    worker.give(number, items[number])
            busy = {worker.connection: worker for worker in crew if worker.number is not None}
            first = min(worker.since for worker in busy.values())
            limited = seconds is not None and first < math.inf
            ready = wait(list(busy), max(0.0, first + (seconds or 0.0) - time.monotonic()) + 0.01 if limited else None)
            for connection, worker in busy.items():
                assert worker.number is not None
                number = worker.number
                late = seconds is not None and time.monotonic() - worker.since > seconds
                if connection not in ready and not late:
                    continue
                try:
                    if connection not in ready:
                        raise TimeoutError
                    if worker.begins():
                        continue
                    yield number, worker.take()
                except TimeoutError:
                    crew[crew.index(worker)] = _replaced(worker, work, workers)
                    yield number, Lost(f"took more than {seconds:g} s", late=True)
                except (EOFError, ConnectionError):
                    crew[crew.index(worker)] = _replaced(worker, work, workers)
                    deaths[number] = deaths.get(number, 0) + 1
                    if deaths[number] < ATTEMPTS:
                        waiting.put_back(number)
                    else:
                        yield number, Lost(f"killed {ATTEMPTS} workers, the last with {_ending(worker)}")
    finally:
        for worker in crew:
            worker.process.terminate()
        for worker in crew:
            worker.end(PATIENCE)


class _Worker:
    """A process, and the item that it works on."""

    def __init__(self, work: Work, workers: int) -> None:
        # A fresh interpreter: threads of onnxruntime do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work, workers), daemon=True)
        self.process.start()
        theirs.close()
        self.number: int | None = None
        self.before: int | None = None
        """The number of the item that it got last."""
        self.since = math.inf
        """When it began its item. The start of a fresh interpreter does not count."""
        self._came = b""

    def give(self, number: int, item: Any) -> None:
        """Sends the worker an item. A worker that is dead already is found to be so when its result is asked for."""
        self.number, self.before, self.since = number, number, math.inf
        try:
            self.connection.send(item)
        except (BrokenPipeError, ConnectionError):
            return

    def begins(self) -> bool:
        """Reads a message; returns whether it says that the item has begun. A dead worker raises ``EOFError``."""
        self._came = self.connection.recv_bytes()
        if self._came == BEGUN:
            self.since = time.monotonic()
        return self._came == BEGUN

    def take(self) -> Any:
        """Returns the result that has come; raises an error of the work."""
        done, result = pickle.loads(self._came)
        self.number = None
        if not done:
            raise result
        return result

    def end(self, patience: float) -> None:
        self.process.join(patience)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.connection.close()


def _replaced(worker: _Worker, work: Work, workers: int) -> _Worker:
    worker.process.kill()
    worker.end(PATIENCE)
    return _Worker(work, workers)


def _ending(worker: _Worker) -> str:
    code = worker.process.exitcode
    return f"exit code {code}" if code is None or code >= 0 else signal.Signals(-code).name


def _serve(connection: Connection[Any, Any], work: Work, workers: int) -> None:
    """Serves items in the worker until there are no more. Ctrl-C is left to the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _interrupt)
    share_with(workers)
    try:
        while True:
            item = connection.recv()
            connection.send_bytes(BEGUN)
            try:
                answer = (True, work(item))
            except Exception as error:
                answer = (False, error)
            connection.send_bytes(_pickled(answer))
    except (EOFError, KeyboardInterrupt, ConnectionError):
        return


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Ends the work at the first signal; those that follow are ignored while what was started is ended."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _pickled(answer: tuple[bool, Any]) -> bytes:
    """The answer as bytes. An error that cannot be pickled is replaced by its text."""
    try:
        content = pickle.dumps(answer)
        pickle.loads(content)
    except Exception:
        error = answer[1]
        text = "".join(traceback.format_exception(error)) if isinstance(error, Exception) else f"{error!r} cannot be pickled"
        return pickle.dumps((False, RuntimeError(text)))
    return content
