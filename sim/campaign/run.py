"""Runs a campaign. Results come in the order of their items, wherever and in whatever order they were made."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.campaign.cluster import on_cluster
from sim.campaign.processes import on_processes
from sim.campaign.record import Record
from sim.campaign.waiting import Waiting
from sim.campaign.work import CampaignError, Lost, Work


@dataclass(frozen=True)
class How:
    """Where a campaign runs, and what is kept of it."""

    workers: int = 1
    """The number of processes. With one, all happens in this process, unless an item has a time limit."""
    scheduler: str | None = None
    """The address of a Dask scheduler, whose workers are used instead."""
    record: Path | None = None
    """The file that results are added to as they come."""
    resume: bool = False
    """Whether to take what the record holds, and run the rest."""


ALONE = How()
"""A campaign in this process, with nothing kept."""


@contextmanager
def campaign(
    work: Work, items: Sequence[Any], how: How, of: Mapping[str, Any], *, seconds: float | None = None,
    progress: Callable[[int], None] | None = None, kind: Callable[[Any], Hashable] | None = None,
) -> Iterator[Iterator[Any]]:  # fmt: skip
    """Gives the results in the order of the items, and ends what still runs when the context is left.

    An item that killed ``ATTEMPTS`` workers, or that took more than ``seconds``, has a ``Lost`` for a result. ``of`` tells
    campaigns apart: a record of another one is not resumed. Items may be added behind those that a record knows. An error of
    the work ends the campaign and is raised here. ``progress`` is told how many results there are. ``kind``: the first item of
    a kind makes something that the others of that kind share; processes of this machine then work on different kinds, if they
    can.
    """
    if how.resume and how.record is None:
        raise CampaignError("--resume: there is no file to resume from; name it with --record FILE")
    if how.scheduler is not None and seconds is not None:
        raise CampaignError(
            f"--scheduler {how.scheduler}: this work has a time limit, which processes of this machine keep to; give --workers"
        )
    with ExitStack() as stack:
        record = stack.enter_context(closing(Record(how.record, of, resume=how.resume)))
        left = [number for number in range(len(items)) if number not in record.results]
        results = stack.enter_context(closing(_unordered(work, items, left, how, seconds, kind)))
        yield _ordered(record, results, len(items), progress)


def _ordered(
    record: Record, results: Iterator[tuple[int, Any]], count: int, progress: Callable[[int], None] | None
) -> Iterator[Any]:
    found = dict(record.results)
    done = len([number for number in found if number < count])
    for number in range(count):
        while number not in found:
            came, result = next(results)
            found[came] = result
            if not isinstance(result, Lost):
                record.add(came, result)
            done += 1
            if progress is not None:
                progress(done)
        yield found.pop(number)


def _unordered(
    work: Work, items: Sequence[Any], left: Sequence[int], how: How, seconds: float | None,
    kind: Callable[[Any], Hashable] | None,
) -> Generator[tuple[int, Any], None, None]:  # fmt: skip
    if not left:
        return
    if how.scheduler is not None:
        yield from on_cluster(work, items, left, how.scheduler)
    elif min(how.workers, len(left)) > 1 or seconds is not None:
        waiting = Waiting(left, [None if kind is None else kind(item) for item in items])
        yield from on_processes(work, items, waiting, min(how.workers, len(left)), seconds)
    else:
        for number in left:
            yield number, work(items[number])
