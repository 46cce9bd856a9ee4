"""Campaigns: the same results in the same order however they are run, dead workers replaced, records gone on with."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sim.campaign.cluster import INSTALL
from sim.campaign.cores import all_cores
from sim.campaign.record import RecordError
from sim.campaign.run import ALONE, How, campaign
from sim.campaign.work import ATTEMPTS, CampaignError, Lost, Work

OF = {"of": "squares"}
TWO = How(workers=2)


def square(item: int) -> int:
    time.sleep(0.01 * (item % 3))
    return item * item


def killed_once(item: tuple[str, int]) -> int:
    """The worker that has number 3 in hand dies, the first time."""
    folder, number = item
    mark = Path(folder) / "died"
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def killed_always(item: int) -> int:
    if item == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    return item


def hangs(item: int) -> int:
    time.sleep(60 if item == 1 else 0)
    return item


def refuses(item: int) -> int:
    raise CampaignError(f"item {item}: wrong")


def counted(item: tuple[str, int]) -> int:
    folder, number = item
    (Path(folder) / f"{number}-{time.monotonic_ns()}").touch()
    return number


def results(work: Work, items: Sequence[Any], how: How = ALONE, **options: Any) -> list[Any]:
    with campaign(work, items, how, OF, **options) as found:
        return list(found)


@pytest.mark.parametrize("how", [ALONE, TWO])
def test_results_come_in_the_order_of_the_items(how: How) -> None:
    told: list[int] = []
    assert results(square, range(20), how, progress=told.append) == [n * n for n in range(20)]
    assert told == list(range(1, 21))


def test_a_worker_that_is_killed_is_replaced_and_its_item_is_run_again(tmp_path: Path) -> None:
    items = [(str(tmp_path), number) for number in range(8)]
    assert results(killed_once, items, TWO) == [*range(8)]
    assert (tmp_path / "died").exists()


def test_an_item_that_kills_every_worker_is_lost_and_the_others_are_not() -> None:
    assert results(killed_always, range(4), TWO) == [0, Lost(f"killed {ATTEMPTS} workers, the last with SIGSEGV"), 2, 3]


def test_an_item_that_takes_too_long_is_lost_and_the_others_are_not() -> None:
    since = time.monotonic()
    assert results(hangs, range(4), ALONE, seconds=3) == [0, Lost("took more than 3 s", late=True), 2, 3]
    assert time.monotonic() - since < 50


@pytest.mark.parametrize("how", [ALONE, TWO])
def test_an_error_of_the_work_ends_the_campaign(how: How) -> None:
    with pytest.raises(CampaignError, match=r"item [01]: wrong"):
        results(refuses, range(2), how)


def test_a_record_is_gone_on_with_and_nothing_is_run_twice(tmp_path: Path) -> None:
    marks, record = tmp_path / "marks", tmp_path / "record.jsonl"
    marks.mkdir()
    items = [(str(marks), number) for number in range(6)]
    with campaign(counted, items, How(record=record), OF) as found:
        assert [next(found) for _ in range(3)] == [0, 1, 2]
    with record.open("a") as stream:
        stream.write('{"item": 3, "res')  # whoever was interrupted while it was written
    assert results(counted, items, How(record=record, resume=True)) == [*range(6)]
    assert sorted(path.name[0] for path in marks.iterdir()) == list("012345")
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert lines[0] == {"campaign": OF}
    assert [line["item"] for line in lines[1:]] == [*range(6)]
    assert results(counted, [*items, (str(marks), 6)], How(record=record, resume=True)) == [*range(7)], "it may grow"


def test_records_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    results(square, range(2), How(record=record))
    with pytest.raises(RecordError, match="exists; go on with it by --resume, or name another file"):
        results(square, range(2), How(record=record))
    with (
        pytest.raises(RecordError, match="is of another campaign"),
        campaign(square, range(2), How(record=record, resume=True), {"of": "cubes"}),
    ):
        pass
    record.write_text(record.read_text() + '{"item": "none"}\n')
    with pytest.raises(RecordError, match=r"is not a result; remove the file"):
        results(square, range(2), How(record=record, resume=True))
    with pytest.raises(RecordError, match=r"cannot be used: .*; name another file"):
        results(square, range(2), How(record=record / "below"))
    with pytest.raises(CampaignError, match="--record FILE"):
        results(square, range(2), How(resume=True))


def test_leaving_a_campaign_ends_its_workers() -> None:
    since = time.monotonic()
    with campaign(hangs, range(3), TWO, OF) as found:
        assert next(found) == 0
    assert time.monotonic() - since < 30


def test_all_cores_are_those_that_this_process_may_use() -> None:
    assert 1 <= all_cores() <= (os.cpu_count() or 1)


def test_without_distributed_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CampaignError, match="distributed is not installed") as refused:
        results(square, range(2), How(scheduler="tcp://127.0.0.1:1"))
    assert INSTALL in str(refused.value)


@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.campaign.cluster.START_SECONDS", 1)
    with pytest.raises(CampaignError, match=r"no Dask scheduler answers .*; start one with: dask scheduler"):
        results(square, range(2), How(scheduler="tcp://127.0.0.1:1"))
    with pytest.raises(CampaignError, match="has a time limit"):
        results(square, range(2), How(scheduler="tcp://127.0.0.1:1"), seconds=1)


@pytest.mark.filterwarnings("default")
def test_a_cluster_gives_the_same_results_and_replaces_a_worker_that_is_killed(tmp_path: Path) -> None:
    import distributed

    items = [(str(tmp_path), number) for number in range(12)]
    settings = {"processes": True, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **settings) as cluster:
        how = How(scheduler=cluster.scheduler_address, record=tmp_path / "record.jsonl")
        assert results(killed_once, items, how) == [*range(12)]
        assert (tmp_path / "died").exists()
        assert results(square, range(12), How(scheduler=cluster.scheduler_address)) == [n * n for n in range(12)]
        with pytest.raises(CampaignError, match=r"item [01]: wrong"):
            results(refuses, range(2), How(scheduler=cluster.scheduler_address))


@pytest.mark.filterwarnings("default")
def test_a_worker_with_several_threads_is_refused() -> None:
    import distributed

    settings = {"processes": False, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, **settings) as cluster,
        pytest.raises(CampaignError, match=r"has 2 threads, 1 is expected; start workers with: dask worker .* --nthreads 1"),
    ):
        results(square, range(2), How(scheduler=cluster.scheduler_address))
