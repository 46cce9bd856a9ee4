"""Mutants of Python sources: each changes one place, and is noticed by tests that look there and by no others."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from bench.covering import Covering, covering
from bench.mutations import ROOT, Mutant, drawn, mutants_of, mutated
from bench.python_mutants import FOLDERS, KILLED, NOT_RUN, SURVIVES, chosen_tests, verdict

PATH = "isa/requantisation.py"


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


def test_every_mutant_knows_the_lines_of_its_statement() -> None:
    for mutant in mutants_of("compiler/search/cover.py"):
        assert mutant.line in mutant.lines


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Covering:
    """On a folder with a source, two tests of it in one file, and one in another."""
    root = tmp_path_factory.mktemp("covering")
    (root / "code").mkdir()
    (root / "code" / "two.py").write_text("def one():\n    return 1\n\n\ndef two():\n    return 1 + (\n        one()\n    )\n")
    (root / "test_two.py").write_text(
        "from code_of import two\n\n\ndef test_one():\n    assert two.one() == 1\n\n\n"
        "def test_both():\n    assert two.two() == 2\n"
    )
    (root / "test_one.py").write_text("from code_of import two\n\n\ndef test_alone():\n    assert two.one() == 1\n")
    (root / "code_of.py").write_text("import sys\nsys.path.insert(0, 'code')\nimport two\n")
    (root / "bench").symlink_to(ROOT / "bench")
    return covering(root, "code", ("test_two.py", "test_one.py"), root / "kept")


ONE, BOTH, ALONE = "test_two.py::test_one", "test_two.py::test_both", "test_one.py::test_alone"


def test_it_is_noted_which_test_runs_a_line(found: Covering) -> None:
    assert set(found.seconds) == {ONE, BOTH, ALONE}
    assert set(found.tests_of("code/two.py", [2])) == {ONE, BOTH, ALONE}
    assert found.tests_of("code/two.py", [3]) == []
    assert found.tests_of("code/three.py", [1]) == []


def test_behind_those_that_run_a_line_come_the_others_of_their_file(found: Covering) -> None:
    """Which may have been given what the first has computed."""
    assert found.tests_of("code/two.py", [6]) == [BOTH, ONE] == found.tests_of("code/two.py", [5, 6, 7])


def test_a_mutant_meets_the_tests_that_run_its_line(found: Covering) -> None:
    inside = Mutant("code/two.py", 0, 7, "", (6, 7, 8), at_import=False)
    assert chosen_tests(inside, found) == [BOTH, ONE]
    outside = Mutant("code/two.py", 0, 1, "", (1,), at_import=True)
    assert len(chosen_tests(outside, found)) == 3


@pytest.mark.parametrize(
    ("test", "expected"),
    [("tests/sim/functional/test_functional_requantise.py", KILLED), ("tests/isa/test_estimate.py", SURVIVES), (None, NOT_RUN)],
)
def test_a_mutant_is_killed_by_the_tests_of_what_it_changes(test: str | None, expected: str) -> None:
    shift = next(mutant for mutant in mutants_of(PATH) if "Shift" in mutant.change or mutant.change == "Add to Sub")
    assert verdict((shift, () if test is None else (test,), 10.0)) == expected


def test_a_mutant_that_never_ends_is_killed_by_the_clock(tmp_path: Path) -> None:
    endless = tmp_path / "test_endless.py"
    endless.write_text("def test_endless():\n    while True:\n        pass\n")
    assert verdict((mutants_of(PATH)[0], (str(endless),), -7.0)) == "killed by the clock"
