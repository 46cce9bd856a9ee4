"""The second core: the same programs with it and without, and none of it where it dies or cannot be."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from compiler.driver import compile_graph
from compiler.frontend.pipeline import import_model
from compiler.planning.objective import CYCLES
from compiler.search import crew as crews
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.crew import Crew, Team, crew_allowed
from compiler.zoo.networks import networks
from isa.config import preset
from isa.errors import TilewrightError
from sim.campaign.cores import CORES

HERE = os.getpid()
UNCALIBRATED = pytest.mark.filterwarnings("ignore:no calibration data")


def who(item: float) -> tuple[float, int]:
    """Takes as long as it is told to."""
    time.sleep(item)
    return item, os.getpid()


@contextmanager
def team(work: object, cores: int = 2) -> Iterator[Team[float, tuple[float, int]]]:
    with Crew(cores) as crew:
        yield crew.team(work)  # type: ignore[arg-type]


def test_both_take_from_one_list_and_results_keep_its_order() -> None:
    items = [n / 1000 for n in range(20)]
    with team(who) as both:
        for _ in range(3):
            found = both.each(items)
            assert [item for item, _ in found] == items
            assert {pid for _, pid in found} == {HERE, both.helper}
            assert found[0][1] == HERE
            assert found[-1][1] == both.helper


def test_whoever_is_slow_does_less() -> None:
    with team(who) as both:
        both.each([0.0, 0.0])  # Starts the helper.
        found = both.each([1.0, *[0.01] * 20])
    assert [pid for _, pid in found].count(HERE) == 1


def test_a_single_item_starts_no_helper() -> None:
    with team(who) as both:
        assert both.each([0.0]) == [(0.0, HERE)]
        assert both.helper is None


def test_one_core_is_this_process_alone() -> None:
    with team(who, cores=1) as alone:
        assert alone.helper is None
        assert alone.each([0.0, 0.0]) == [(0.0, HERE)] * 2


def test_a_dead_helper_leaves_its_items_here() -> None:
    with team(who) as both:
        both.each([0.0, 0.0])
        assert both.helper is not None
        os.kill(both.helper, signal.SIGKILL)
        assert both.each([0.0, 0.01, 0.02]) == [(0.0, HERE), (0.01, HERE), (0.02, HERE)]
        assert both.helper is None


def test_a_helper_that_dies_of_an_item_leaves_it_here() -> None:
    def deadly(item: float) -> tuple[float, int]:
        if os.getpid() != HERE:
            os._exit(1)
        return who(item)

    with team(deadly) as both:
        assert both.each([0.0, 0.0, 0.0]) == [(0.0, HERE)] * 3


def test_a_helper_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "PATIENCE", 0.2)
    with team(lambda item: who(item if os.getpid() == HERE else 100)) as both:
        assert both.each([0.0, 0.0]) == [(0.0, HERE)] * 2
        assert both.helper is None


def test_an_error_is_raised_here_whoever_met_it() -> None:
    def wrong(item: float) -> tuple[float, int]:
        if item == 1:
            raise ValueError("one")
        return who(item)

    for items in ([1, 0, 0], [0, 0, 1]):
        with team(wrong) as both, pytest.raises(ValueError, match="one"):
            both.each(items)
        assert both.helper is None


def test_no_helper_where_forking_fails_or_other_threads_work(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    with team(who) as beside:
        assert beside.each([0.0, 0.0]) == [(0.0, HERE)] * 2
    over.set()
    thread.join()

    def full() -> int:
        raise OSError("no more processes")

    monkeypatch.setattr(os, "fork", full)
    with team(who) as refused:
        assert refused.each([0.0, 0.0]) == [(0.0, HERE)] * 2


def test_helpers_end_with_their_crew() -> None:
    with team(who) as both:
        both.each([0.0, 0.0])
        helper = both.helper
        assert helper is not None
    with pytest.raises(ProcessLookupError):
        os.kill(helper, 0)


def test_the_environment_says_how_many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CORES, "1")
    assert crew_allowed().cores == 1
    monkeypatch.setenv(CORES, "two")
    with pytest.raises(TilewrightError, match=r"TILEWRIGHT_CORES: 'two'; expected a number"):
        crew_allowed()


@UNCALIBRATED
def test_one_core_and_two_weigh_the_same_groups() -> None:
    graph = import_model(networks()["squeezenet"](size=64, classes=10)).graph
    found = []
    for cores in (1, 2):
        with Crew(cores) as crew:
            evaluator = Evaluator(preset("base"), graph, crew=crew)
            found.append((best(graph, evaluator, CYCLES), evaluator.weighed(CYCLES)))
    assert found[0] == found[1]


@UNCALIBRATED
@pytest.mark.parametrize("name", ["squeezenet", pytest.param("mobilenet_v2", marks=pytest.mark.slow)])
def test_one_core_and_two_make_the_same_program(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = networks()[name](size=96, classes=10)
    helpers: list[int | None] = []
    start = Team._start

    def started(self: Team[object, object]) -> None:
        start(self)
        helpers.append(self.helper)

    monkeypatch.setattr(Team, "_start", started)
    made = []
    for cores, helped in (("1", False), ("2", True)):
        monkeypatch.setenv(CORES, cores)
        helpers.clear()
        made.append(compile_graph(import_model(model), preset("base")).program)
        assert bool(helpers) == helped
        assert None not in helpers
    assert made[0].words == made[1].words
    assert made[0].const == made[1].const
