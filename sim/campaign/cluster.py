"""Workers of a Dask cluster. The scheduler gives the items of a dead worker to another one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from sim.campaign.cores import all_cores, share_with
from sim.campaign.work import ATTEMPTS, CampaignError, Lost, Work

INSTALL = "pip install 'tilewright[cluster]'"
AHEAD = 4
"""The items that each worker has waiting: enough that none waits for the next, few enough that a campaign ends soon."""
START_SECONDS = 10


def on_cluster(work: Work, items: Sequence[Any], left: Sequence[int], scheduler: str) -> Iterator[tuple[int, Any]]:
    """Yields the numbers of items and their results, in the order in which they come."""
    try:
        from distributed import Client, KilledWorker, as_completed
    except ModuleNotFoundError:
        raise CampaignError(f"--scheduler {scheduler}: the Python package distributed is not installed: {INSTALL}") from None
    try:
        client = Client(scheduler, timeout=START_SECONDS, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        text = str(error).partition("\n")[0]
        raise CampaignError(
            f"--scheduler {scheduler}: no Dask scheduler answers ({text}); start one with: dask scheduler"
        ) from None
    try:
        _check_threads(client, scheduler)
        waiting = deque(left)
        numbers: dict[Any, int] = {}
        running = as_completed(loop=client.loop)

        def submit(count: int) -> None:
            for _ in range(min(count, len(waiting))):
                number = waiting.popleft()
                future = client.submit(partial(_on_one_core, work), items[number], pure=False)
                numbers[future.key] = number
                running.add(future)

        submit(AHEAD * max(1, len(client.nthreads())))
        for future in running:
            number = numbers.pop(future.key)
            failed = future.exception()
            if isinstance(failed, KilledWorker):
                yield number, Lost(f"killed {ATTEMPTS} workers or more")
            elif failed is not None:
                raise failed
            else:
                yield number, future.result()
            submit(1)
    finally:
        client.close()


def _on_one_core(work: Work, item: Any) -> Any:
    """Does the work on one core, since a cluster has a worker for each core."""
    share_with(all_cores())
    return work(item)


def _check_threads(client: Any, scheduler: str) -> None:
    """Checks that each worker has one thread: work changes what belongs to a whole process (warnings, signals)."""
    for address, threads in client.nthreads().items():
        if threads != 1:
            raise CampaignError(
                f"--scheduler {scheduler}: worker {address} has {threads} threads, 1 is expected; "
                f"start workers with: dask worker {scheduler} --nthreads 1 --nworkers -1"
            )
