"""The reference pages of commands, of the API and of JSON are those of the code."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Golden
from tests.docs.reference import api_page, commands_page, json_page

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def test_the_page_of_commands(golden: Golden) -> None:
    golden(REFERENCE / "commands.md", commands_page())


def test_the_page_of_the_api(golden: Golden) -> None:
    golden(REFERENCE / "api.md", api_page())


def test_the_page_of_json(golden: Golden) -> None:
    golden(REFERENCE / "json.md", json_page())
