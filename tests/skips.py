"""What was skipped and why: printed after each run, and with ``--skips KIND`` held to the numbers of ``skips.json``.

A test is skipped for an optional tool of the README that is not installed, or for models that lie beside the checkout. So a
run on a known kind of machine skips a known number of tests for each reason, and one more is a failure.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

NUMBERS = Path(__file__).parent / "skips.json"
"""By kind of machine (``bare``, ``full``) and reason, how many tests are skipped: a number, or all that it may be."""


def counted(reports: list[pytest.TestReport]) -> dict[str, int]:
    """Reasons in order of the alphabet, and how often each was given."""
    told = [str(report.longrepr[2]) for report in reports if isinstance(report.longrepr, tuple)]
    return dict(sorted(Counter(reason.removeprefix("Skipped: ") for reason in told).items()))


def rest_of(items: list[pytest.Item], names: list[str]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """What a run without slow tests, which skipped those of these names, has left to do; and what it has done."""
    skipped = set(names)
    chosen = [item for item in items if item.nodeid in skipped or item.get_closest_marker("slow")]
    left = {*map(id, chosen)}
    return chosen, [item for item in items if id(item) not in left]


def differences(found: dict[str, int], expected: dict[str, int | list[int]]) -> list[str]:
    """A line for each reason whose number is another one than was expected."""
    lines = []
    for reason in sorted(found.keys() | expected.keys()):
        count, wanted = found.get(reason, 0), expected.get(reason, 0)
        allowed = wanted if isinstance(wanted, list) else [wanted]
        if count not in allowed:
            lines.append(f"{reason}: {count} skipped, {' or '.join(map(str, allowed))} expected")
    return lines


def held(found: dict[str, int], kind: str, update: bool) -> list[str]:
    """The differences from what ``skips.json`` has for this kind; ``update`` writes what was found there instead."""
    known: dict[str, dict[str, int | list[int]]] = json.loads(NUMBERS.read_text())
    if update:
        NUMBERS.write_text(json.dumps(known | {kind: found}, indent=2) + "\n")
        return []
    if kind not in known:
        return [f"--skips {kind}: expected one of {', '.join(known)}"]
    return differences(found, known[kind])
