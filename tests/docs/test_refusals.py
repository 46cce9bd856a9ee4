"""docs/reference/refusals.md against the code: every error that is made anywhere has its line, and every line a remedy."""

from __future__ import annotations

from isa.errors import TilewrightError
from isa.faults import Fault
from tests.conftest import Golden
from tests.docs.refusals import OF_FAULTS, REMEDIES, ROOT, error_classes, page, refusals, sources


def test_the_page_is_what_the_code_says(golden: Golden) -> None:
    golden(ROOT / "docs" / "reference" / "refusals.md", page())


def test_every_refusal_names_what_is_wrong_and_what_helps() -> None:
    assert len(refusals()) > 250
    assert [refusal for refusal in refusals() if not refusal.parts[1] or not refusal.parts[2]] == []
    assert set(OF_FAULTS) == {fault.name for fault in Fault}


def test_remedies_are_of_errors_that_there_are() -> None:
    errors = error_classes(sources())
    assert TilewrightError.__name__ in errors
    assert set(REMEDIES) <= errors
    assert {refusal.error for refusal in refusals()} <= errors
