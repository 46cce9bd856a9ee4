"""The numbers of skipped tests are held."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests import skips
from tests.tools import PACKAGES, PICOLIBC

README = Path(__file__).parent.parent / "README.md"


def skipped(reason: str) -> pytest.TestReport:
    return pytest.TestReport("a test", ("a.py", 1, "a test"), {}, "skipped", ("a.py", 1, f"Skipped: {reason}"), "setup")


def test_reasons_are_counted() -> None:
    assert skips.counted([skipped("no b"), skipped("no a"), skipped("no b")]) == {"no a": 1, "no b": 2}


@pytest.mark.slow
def test_the_rest_is_what_is_slow_and_what_was_skipped(request: pytest.FixtureRequest) -> None:
    assert isinstance(request.node.parent, pytest.Module)
    items = [item for item in request.node.parent.collect() if isinstance(item, pytest.Item)]
    chosen, others = skips.rest_of(items, [item.nodeid for item in items if item.name == "test_reasons_are_counted"])
    names = [item.name for item in chosen]
    assert sorted(names) == ["test_reasons_are_counted", request.node.name]
    assert {*chosen, *others} == {*items}


def test_each_difference_is_told() -> None:
    assert skips.differences({"no a": 1, "no b": 2}, {"no a": 1, "no b": 2}) == []
    assert skips.differences({"no a": 1, "no b": 2}, {"no b": 1, "no c": 3}) == [
        "no a: 1 skipped, 0 expected", "no b: 2 skipped, 1 expected", "no c: 0 skipped, 3 expected",
    ]  # fmt: skip
    assert skips.differences({"no a": 4}, {"no a": [0, 4]}) == skips.differences({}, {"no a": [0, 4]}) == []
    assert skips.differences({"no a": 2}, {"no a": [0, 4]}) == ["no a: 2 skipped, 0 or 4 expected"]


def test_numbers_are_renewed_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skips, "NUMBERS", tmp_path / "skips.json")
    skips.NUMBERS.write_text('{"bare": {"no a": 1}}')
    assert skips.held({}, "bare", update=False) == ["no a: 0 skipped, 1 expected"]
    assert skips.held({}, "other", update=False) == ["--skips other: expected one of bare"]
    assert skips.held({"no b": 2}, "bare", update=True) == []
    assert json.loads(skips.NUMBERS.read_text()) == {"bare": {"no b": 2}}


def test_tests_are_skipped_for_optional_tools_of_the_readme_alone() -> None:
    table = README.read_text().partition("| optional tool |")[2].partition("\n\n")[0]
    optional = dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", table, re.MULTILINE))
    assert [tool for tool, package in PACKAGES.items() if package not in optional.get(tool, "").split()] == []
    assert PICOLIBC in optional["riscv64-unknown-elf-gcc"].split()
