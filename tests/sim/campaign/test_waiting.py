"""Which item a worker takes: one of the kind that it has, else of a kind that nobody has, else of any."""

from __future__ import annotations

import time
from pathlib import Path

from sim.campaign.run import How, campaign
from sim.campaign.waiting import Waiting

KINDS = "aabbcc"


def test_a_worker_goes_on_with_its_kind() -> None:
    waiting = Waiting(range(6), KINDS)
    assert [waiting.take(2, []), waiting.take(2, [])] == [2, 3]


def test_a_new_worker_takes_the_first_kind_that_nobody_has() -> None:
    assert Waiting(range(6), KINDS).take(None, []) == 0
    assert Waiting(range(6), KINDS).take(None, [0]) == 2
    assert Waiting([1, 3, 4, 5], KINDS).take(None, [0, 2]) == 4


def test_a_worker_whose_kind_is_at_its_end_begins_another_before_it_helps() -> None:
    waiting = Waiting([1, 4, 5], KINDS)
    assert waiting.take(3, [0]) == 4
    assert waiting.take(3, [0, 4]) == 1
    assert waiting.take(1, [4]) == 5
    assert not waiting


def test_what_is_put_back_is_the_first_of_its_kind() -> None:
    waiting = Waiting([4, 5], KINDS)
    assert waiting.take(None, []) == 4
    waiting.put_back(4)
    assert waiting.take(None, []) == 4
    assert waiting.take(None, []) == 5
    waiting.put_back(5)
    assert waiting
    assert waiting.take(None, []) == 5


def test_without_kinds_items_go_in_their_order() -> None:
    waiting = Waiting(range(4), [None] * 4)
    assert [waiting.take(before, [0]) for before in (None, None, 0, 1)] == [0, 1, 2, 3]


def meets_the_other(item: tuple[str, int, int]) -> bool:
    """The first of each kind waits until that of the other kind is in hand, too."""
    folder, kind, number = item
    if number == 0:
        (Path(folder) / str(kind)).touch()
        end = time.monotonic() + 60
        while len(list(Path(folder).iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.01)
    return len(list(Path(folder).iterdir())) == 2


def test_two_processes_begin_a_kind_each(tmp_path: Path) -> None:
    items = [(str(tmp_path), kind, number) for kind in range(2) for number in range(3)]
    with campaign(meets_the_other, items, How(workers=2), {"of": "kinds"}, kind=lambda item: item[1]) as found:
        assert all(found)
