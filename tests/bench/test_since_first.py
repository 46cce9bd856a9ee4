"""The table of what programs take since the first edition: its machine, and the sentence that is computed with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import bench.since_first as since_first
from bench.network_table import put_row


def test_the_machine_differs_from_the_preset_in_what_the_page_says() -> None:
    then = since_first.as_first()
    assert (then.fm_banks, then.fm_depth, then.acc_depth) == (48, 512, 64)
    assert (then.conv_finish, then.pool_finish) == (then.oc_p * then.px_p, then.ic_p)


def test_the_sentence_is_the_mean_of_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"## {since_first.TITLE}\n\nWhat.\n", encoding="utf-8")
    monkeypatch.setattr(since_first, "PAGE", page)
    for name, then, now in (("one", "900", "1,100"), ("two", "980", "1,000")):
        put_row(since_first.TITLE, since_first.COLUMNS, [name, "1,000", then, "", now, ""], 1, page)
    assert "In the mean of 2 networks programs take -6.00% with" in since_first.told()
    assert "and +5.00% on the preset" in since_first.told()
