"""How long a compilation still takes, with a clock that is set by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from compiler.driver import frugal_steps
from compiler.search.progress import OF_AN_OPERATION, PLANNING, PROGRAMS, Doing, Outlook, Stage, stages_of
from compiler.search.effort import EFFORTS
from compiler.search.strategies import STRATEGIES
from isa.config import preset
from tests.compiler.search.test_effort import diamonds

NANO = preset("nano")
Reports = Sequence[tuple[float, str, int]]
"""Seconds since the start, what begins then, and turns of the program, where they become known."""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def told(stages: Sequence[Stage], operations: int, reports: Reports) -> list[Doing]:
    said: list[str] = []
    clock = Clock()
    outlook = Outlook(said.append, stages, operations, clock)
    for seconds, doing, turns in reports:
        clock.now = 100.0 + seconds
        outlook(doing, turns=turns)
    assert all(isinstance(each, Doing) for each in said)
    return [each for each in said if isinstance(each, Doing)]


def left(found: Sequence[Doing]) -> list[float]:
    assert all(each.left is not None for each in found)
    return [each.left or 0.0 for each in found]


def expected(stage: Stage, operations: int, turns: int) -> float:
    return stage.seconds * (operations if stage.kind == PLANNING else turns + OF_AN_OPERATION * operations)


def falls(found: Sequence[float]) -> bool:
    return len(found) > 0 and all(before > after for before, after in pairwise(found))


@pytest.mark.parametrize("speed", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("strategy", ["best", "naive", "neocpu"])
def test_where_stages_take_what_is_expected_the_rest_is_told_and_falls(strategy: str, effort: str, speed: float) -> None:
    """On a slow machine it rises at first; from the second half on it is within a factor of two on any."""
    stages = [stage for stage in stages_of(strategy, True, EFFORTS[effort], 50) if stage.chance > 0.5]
    seconds = [speed * expected(stage, 50, 1000) for stage in stages]
    starts = [sum(seconds[:number]) for number in range(len(stages))]
    whole = sum(seconds)
    found = left(told(stages, 50, [(start, stage.begins, 1000) for start, stage in zip(starts, stages, strict=True)]))
    assert speed > 1 or falls(found)
    late = [(each, whole - start) for each, start in zip(found, starts, strict=True) if start >= whole / 2]
    assert falls([each for each, _ in late])
    assert all(rest / 2 <= each <= 2 * rest for each, rest in late)


NAMES = ("naive", "greedy", "dnnvm", "fuse-and-shrink", "optimus-online", "best")
STAGES = [
    "search", *(f"search: strategy {name}, " for name in NAMES), "search: strategy best, where each",
    "search: strategy best, where bytes count", "search: groups behind",
    *(f"search: program {number} of" for number in range(1, 5)), "search: schemes of groups", "search: schemes, each",
    "search: schemes, choice", "search: order and places", "emit", "pack",
]  # fmt: skip
RECORDED: dict[str, tuple[int, int, list[float]]] = {
    "squeezenet": (30, 403, [
        0.06, 0, 0.03, 0, 0.04, 0.19, 0.21, 0.04, 0.13, 0.20, 0.09, 0.08, 0.07, 0.07, 0.02, 0, 0, 0.05, 0.02, 0.02,
    ]),
    "mobilenet_v2": (64, 1174, [
        0.03, 0.01, 0.06, 0.02, 0.05, 0.18, 0.20, 0.04, 0.10, 0.15, 0.17, 0.07, 0.12, 0, 0.15, 0.14, 0.05, 0.08, 0.03, 0.04,
    ]),
    "googlenet": (72, 1552, [
        0.06, 0.01, 0.10, 0.01, 0.10, 0.53, 0.44, 0.12, 0.38, 0.25, 0.20, 0.15, 0.15, 0.01, 0.20, 0.13, 0, 0.12, 0.05, 0.08,
    ]),
    "resnet50_v1": (72, 3127, [
        0.07, 0.01, 0.21, 0.01, 0.03, 0.13, 0.32, 0.07, 0.15, 0.23, 0.35, 0.14, 0.15, 0.05, 0.32, 0.25, 0, 0.23, 0.13, 0.10,
    ]),
}  # fmt: skip
"""Operations, turns, and what each of the stages took on ``base`` with effort normal; 0: it did not come."""


@pytest.mark.parametrize("network", RECORDED)
def test_of_networks_that_were_compiled_it_is_told_within_a_factor_of_two(network: str) -> None:
    """From half of the compilation on, or within a second."""
    operations, turns, seconds = RECORDED[network]
    starts = [sum(seconds[:number]) for number in range(len(STAGES))]
    known = STAGES.index("search: strategy best, where each")
    reports = [
        (start, stage, turns if number == known else 0)
        for number, (start, stage, took) in enumerate(zip(starts, STAGES, seconds, strict=True)) if took
    ]  # fmt: skip
    found = left(told(stages_of("best", True, EFFORTS["normal"], operations), operations, reports))
    whole = sum(seconds)
    late = [(each, whole - start) for each, (start, _, _) in zip(found, reports, strict=True) if start >= whole / 2]
    assert len(late) >= 4
    assert [(each, rest) for each, rest in late if not rest / 2 - 1 <= each <= 2 * rest + 1] == []


def test_of_a_network_that_is_too_long_to_be_timed_too() -> None:
    """NASNet-A-large on ``base``, recorded: 890 operations; from a tenth of the compilation on, or within a second."""
    operations, turns, whole = 890, 39_398, 20.9
    rivals = zip((0.5, 0.6, 2.2, 2.5, 3.0, 8.6), NAMES, strict=True)
    promised = [(10.0, 0.07), (12.5, 0.50), (14.6, 0.93)]
    reports = [
        *((start, f"search: strategy {name}, ", 0.0) for start, name in rivals),
        *((start, "search: groups that promise most", share) for start, share in promised),
        (15.9, "search: order and places", 0.0), (19.4, "emit", 0.0),
    ]  # fmt: skip
    said: list[str] = []
    clock = Clock()
    outlook = Outlook(said.append, stages_of("best", True, EFFORTS["normal"], operations), operations, clock)
    for start, doing, share in reports:
        clock.now = 100.0 + start
        outlook(doing, share, turns if doing.startswith("search: order") else 0)
    found = left([each for each in said if isinstance(each, Doing)])
    late = [(each, whole - start) for each, (start, _, _) in zip(found, reports, strict=True) if start >= whole / 10]
    assert len(late) == 9
    assert [(each, rest) for each, rest in late if not rest / 2 - 1 <= each <= 2 * rest + 1] == []


def test_a_stage_that_tells_its_share_tells_its_rest() -> None:
    said: list[str] = []
    clock = Clock()
    outlook = Outlook(said.append, [Stage("long", PLANNING, 1.0)], 5, clock)
    for seconds, share in ((0, 0.0), (30, 0.25), (40, 0.5)):
        clock.now = 100.0 + seconds
        outlook(f"long, {share}", share)
    assert said == ["long, 0.0, about 5 s left", "long, 0.25, about 90 s left", "long, 0.5, about 40 s left"]


def test_a_stage_that_takes_longer_than_expected_goes_on_for_a_fifth() -> None:
    said: list[str] = []
    clock = Clock()
    outlook = Outlook(said.append, [Stage("long", PLANNING, 1.0)], 5, clock)
    outlook("long")
    clock.now += 50
    outlook("long")
    assert said[-1] == "long, about 10 s left"


def test_what_is_done_of_one_kind_corrects_its_own_rest_and_in_part_the_others() -> None:
    """Planning took four times as long as expected; programs are then expected to take a little less than that."""
    stages = [Stage("plan", PLANNING, 1.0), Stage("time", PROGRAMS, 1.0)]
    found = told(stages, 10, [(0, "plan", 10), (40, "time", 10)])
    assert left(found) == [pytest.approx(10 + 90), pytest.approx(90 * (41 / 11) ** 0.75)]


def test_seconds_go_on_between_reports() -> None:
    doing = Doing("search", 12.4)
    assert doing == "search, about 12 s left"
    assert doing.after(5) == "search, about 7 s left"
    assert doing.after(60) == "search, about 12 s left"
    assert Doing("search", 0.2) == "search, about 1 s left"
    assert Doing("import", None).after(7) == "import"


@pytest.mark.parametrize(
    ("strategy", "effort"), [("best", "quick"), ("best", "normal"), ("best", "full"), ("neocpu", "normal")]
)
@pytest.mark.parametrize("objective", ["cycles", "dram"])
def test_every_report_of_a_compilation_is_of_a_stage_and_tells_the_rest(strategy: str, effort: str, objective: str) -> None:
    said: list[str] = []
    frugal_steps(NANO, diamonds(), strategy, objective, effort=EFFORTS[effort], progress=said.append)
    found = [each for each in said if isinstance(each, Doing)]
    assert len(found) == len(said) > 0
    assert min(left(found)) > 0
    stages = [stage.begins for stage in stages_of(strategy, objective == "cycles", EFFORTS[effort], 9)]
    begins = tuple(begin for begin in stages if begin != "search")
    assert [each.what for each in found if not each.what.startswith(begins)] == []


def test_how_long_a_limit_of_memory_takes_is_not_told() -> None:
    said: list[str] = []
    frugal_steps(NANO, diamonds(), "best", "cycles", memory=10**6, progress=said.append)
    assert said
    assert not any("left" in each for each in said)


def test_stages_are_of_strategies_that_there_are() -> None:
    rivals = [stage.begins for stage in stages_of("best", True, EFFORTS["normal"], 9) if stage.begins.endswith(", ")]
    assert {name.removeprefix("search: strategy ").removesuffix(", ") for name in rivals} <= STRATEGIES.keys()
