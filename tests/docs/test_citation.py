"""What stands beside the code for those who cite it."""

from __future__ import annotations

import re
from pathlib import Path

from tilewright.version import VERSION

ROOT = Path(__file__).parents[2]


def test_the_citation_has_the_version_of_the_code() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", text, re.MULTILINE) == [VERSION]
