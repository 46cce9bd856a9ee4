"""``tilewright table``: what it builds off line the search looks up, and builds nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from compiler.papers import as_written
from compiler.papers.optimus.online_table import make_table
from compiler.quantise.arrays import read_arrays
from compiler.search.strategies import STRATEGIES
from isa.config import preset
from tests.tilewright.small_models import work_beside_small_files
from tilewright.cli import main
from tilewright.compiling import compile_model

NANO = preset("nano")
ONLINE = "optimus-online-as-written"
WORDS = ("table", "model.onnx", "--calibrate", "calibration.npz", "--config", "nano")
BUILT = "search: the look-up table of optimus-online-as-written, which `tilewright table` builds beforehand"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work_beside_small_files(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[int]]:
    """Every table that is built from now on."""
    tables: list[Sequence[int]] = []
    def counted(*arguments: object) -> list[int]:
        tables.append(make_table(*arguments))  # type: ignore[arg-type]
        return [*tables[-1]]

    monkeypatch.setattr(as_written, "make_table", counted)
    return tables


def compile_online(**choices: object) -> list[str]:
    """What the compiler said that it does."""
    told: list[str] = []
    calibration = read_arrays(Path("calibration.npz"))
    compile_model("model.onnx", NANO, strategy=ONLINE, calibration=calibration, progress=told.append, **choices)  # type: ignore[arg-type]
    return told


@pytest.mark.parametrize("choices", [{}, {"evaluator": "cycle"}, {"objective": "dram"}])
def test_the_search_looks_up_what_the_command_built(choices: dict[str, str], built: list[Sequence[int]]) -> None:
    assert main(WORDS) == 0
    assert len(built) == 1
    assert BUILT not in compile_online(**choices)
    assert len(built) == 1


def test_the_table_is_that_of_every_size_of_the_buffers(built: list[Sequence[int]]) -> None:
    assert main(WORDS) == 0
    Path("mine.toml").write_text('base = "nano"\nname = "mine"\nfm_depth = 128\n')
    calibration = read_arrays(Path("calibration.npz"))
    compile_model("model.onnx", "mine.toml", strategy=ONLINE, calibration=calibration)
    assert len(built) == 1


def test_without_the_command_the_first_search_says_that_it_builds_it(built: list[Sequence[int]]) -> None:
    """Around a schedule, too, it is that of the whole network."""
    Path("part.toml").write_text('[[group]]\noperations = ["conv"]\n')
    assert BUILT in compile_online(schedule="part.toml")
    assert BUILT not in compile_online()
    assert main(WORDS) == 0
    assert built[0] == built[1]


def test_nothing_is_kept_without_a_cache(built: list[Sequence[int]]) -> None:
    assert main(WORDS) == 0
    assert BUILT in compile_online(cache=False)
    assert len(built) == 2


def test_other_strategies_need_no_table(built: list[Sequence[int]]) -> None:
    calibration = read_arrays(Path("calibration.npz"))
    for name in STRATEGIES.keys() - {ONLINE}:
        compile_model("model.onnx", NANO, strategy=name, calibration=calibration, effort="quick")
    assert built == []


def test_it_prints_the_table_and_what_the_configuration_has_room_for(
    built: list[Sequence[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["table"] == [*built[0]] == sorted(built[0])
    assert found["bytes"] == NANO.fm_words * NANO.ic_p
    assert found["operations"] == len([least for least in found["table"] if least <= found["bytes"]])
    assert json.loads(Path(found["file"]).read_text()).popitem()[1] == found["table"]
    assert main(WORDS) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1 : 1 + len(built[0])]] == [[str(n), f"{b:,}"] for n, b in enumerate(built[0], 1)]
    assert lines[-2] == f"nano holds {found['bytes']:,} bytes: groups of at most {found['operations']} operations"
    assert lines[-1].endswith(f"kept in {found['file']}")


def test_a_cache_that_cannot_be_written_is_refused_by_the_command_alone(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "file"))
    assert main(WORDS) == 2
    assert "optimus_tables.json cannot be written: " in capsys.readouterr().err
    assert BUILT in compile_online()
