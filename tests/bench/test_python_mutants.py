"""Mutants of Python sources: each changes one place, and is noticed by tests that look there and by no others."""

from __future__ import annotations

import ast

import pytest

from bench.python_mutants import FOLDERS, ROOT, Mutant, drawn, mutants_of, mutated, survived

PATH = "sim/functional/requantise.py"


def test_every_mutant_is_a_program_that_differs_from_the_source_and_from_the_others() -> None:
    source = ast.unparse(ast.parse((ROOT / PATH).read_text())) + "\n"
    texts = [mutated(mutant) for mutant in mutants_of(PATH)]
    assert len(texts) > 20
    assert len({*texts, source}) == len(texts) + 1
    for text in texts:
        ast.parse(text)
        changed = [pair for pair in zip(source.splitlines(), text.splitlines(), strict=True) if pair[0] != pair[1]]
        assert len(changed) == 1


def test_the_same_seed_draws_the_same() -> None:
    assert drawn(["compiler/passes"], 9, 1) == drawn(["compiler/passes"], 9, 1) != drawn(["compiler/passes"], 9, 2)
    assert all((ROOT / folder).is_dir() and all((ROOT / test).exists() for test in tests) for folder, tests in FOLDERS.items())


@pytest.mark.parametrize(
    ("test", "alive"), [("tests/sim/functional/test_functional_requantise.py", False), ("tests/isa/test_estimate.py", True)]
)
def test_a_mutant_is_killed_by_the_tests_of_what_it_changes(test: str, alive: bool) -> None:
    shift = next(mutant for mutant in mutants_of(PATH) if "Shift" in mutant.change or mutant.change == "Add to Sub")
    assert isinstance(shift, Mutant)
    assert survived((shift, (test,))) is alive
