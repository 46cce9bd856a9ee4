"""The table of what programs take since the first edition: its machines, and the sentences that are computed with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import bench.since_first as since_first
from bench.network_table import put_row
from isa.config import preset


@pytest.mark.parametrize("name", since_first.FIRST)
def test_a_machine_as_then_has_all_lanes_that_there_can_be(name: str) -> None:
    then = since_first.as_first(name)
    assert (then.conv_finish, then.pool_finish, then.misc_lanes) == (then.oc_p * then.px_p, then.ic_p, then.ic_p)
    assert then.acc_depth == 64
    assert set(since_first.FIRST[name]) == set(since_first.FIRST["zu9"])


def test_what_a_preset_has_otherwise_is_told_of_what_programs_depend_on() -> None:
    then, now = since_first.as_first("zu9"), preset("zu9")
    assert since_first.differences(then, now) == (
        "conv_finish 32 for 64, pool_finish 16 for 32, pool_taps 2 for 1, misc_lanes 8 for 32, fm_banks 24 for 48, "
        "fm_depth 1024 for 512, acc_depth 32 for 64"
    )
    assert since_first.differences(then, then) == ""


def test_sentences_are_means_of_rows_on_the_same_machine_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"## {since_first.TITLE}\n\nWhat.\n", encoding="utf-8")
    monkeypatch.setattr(since_first, "PAGE", page)
    for name, then, now in (("one", "900", "1,100"), ("two", "980", "1,000")):
        for kind, cycles in ((since_first.NOW, now), (since_first.THEN, then)):
            row = [kind, "zu9", name, "1,000", cycles, f"{int(cycles.replace(',', '')) / 1000 - 1:+.2%}", ""]
            put_row(since_first.TITLE, since_first.COLUMNS, row, 3, page)
    assert since_first.told().splitlines()[2:] == [
        f"- {since_first.THEN}, `zu9`: -6.00%, asked -3.00%; slower of 2: none.",
        f"- {since_first.NOW}, `zu9`: +5.00%, asked -3.00%; slower of 2: one (+10.00%).",
    ]
    kinds = [line.split(" | ")[0] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| t")]
    assert kinds == [f"| {kind}" for kind in (since_first.THEN, since_first.THEN, since_first.NOW, since_first.NOW)]
