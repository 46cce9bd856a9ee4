"""``explain --architecture``: groups and bytes on the accelerators of Optimus' table 4, and what they cannot be asked."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from compiler.frontend.pipeline import import_model
from compiler.papers.as_written import choose_optimus
from compiler.papers.optimus.architectures import ARCHITECTURES, BY_NAME, OnArchitecture
from compiler.planning.objective import DRAM
from compiler.programs.fitting import fitted
from compiler.quantise.arrays import read_arrays
from compiler.search.strategies import STRATEGIES
from isa.config import preset
from isa.errors import TilewrightError
from tests.tilewright.small_models import work_beside_small_files
from tilewright.architecture import PartitionThere, groups_on
from tilewright.cli import main

WORDS = ("explain", "model.onnx", "--calibrate", "calibration.npz", "--config", "nano")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work_beside_small_files(tmp_path, monkeypatch)
    return tmp_path


def partition(name: str, strategy: str) -> PartitionThere:
    return groups_on(name, "model.onnx", "nano", strategy=strategy, calibration=read_arrays(Path("calibration.npz")))


@pytest.mark.parametrize("name", BY_NAME)
def test_groups_and_bytes_are_what_the_accelerator_says(name: str) -> None:
    graph = fitted(import_model("model.onnx", calibration=read_arrays(Path("calibration.npz"))), preset("nano"), DRAM)[0].graph
    by = OnArchitecture(preset("nano"), graph, architecture=BY_NAME[name])
    chosen = choose_optimus(by)
    found = partition(name, "optimus-as-written")
    assert [group.ops for group in found.groups] == [tuple(op.name for op in group) for group in chosen.groups]
    assert (found.architecture, found.bytes, found.borrowed) == (BY_NAME[name], chosen.value, [])
    assert found.alone == sum(by.alone(op) for op in by.sets.ops)
    assert found.bound <= found.bytes <= found.alone


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "optimus-online"])
def test_every_strategy_chooses_by_it(strategy: str) -> None:
    alone, found = partition("shidiannao", "naive"), partition("ShiDianNao", strategy)
    assert sorted(name for group in found.groups for name in group.ops) == ["conv", "pool"]
    assert alone.bytes >= found.bytes >= partition("shidiannao", "best").bytes


def test_it_is_printed_and_no_program_of_ours_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("compiler.driver.emit_program", None)
    assert main([*WORDS, "--architecture", "eyeriss", "--strategy", "optimus", "--json"]) == 0
    told, found = json.loads(capsys.readouterr().out), partition("eyeriss", "optimus")
    groups = [{**asdict(group), "ops": list(group.ops)} for group in found.groups]
    assert (told["groups"], told["bytes"], told["alone"]) == (groups, found.bytes, found.alone)
    assert main([*WORDS, "--architecture", "eyeriss", "--strategy", "optimus", "--objective", "dram"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["1. conv + pool", f"   {found.bytes:,} bytes; layer by layer {found.alone:,}"]
    assert lines[2].startswith(f"Eyeriss: 1 groups move {found.bytes:,} bytes, layer by layer {found.alone:,}: ")


def test_what_fits_in_no_block_there_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    machine, dataflow = ARCHITECTURES["[7]"]
    monkeypatch.setitem(ARCHITECTURES, "[7]", (type(machine)("[7]", 0, None, 16, 1, 1, 8), dataflow))
    assert partition("lower-bound", "optimus").borrowed == ["conv"]
    assert main([*WORDS, "--architecture", "lower-bound"]) == 0
    assert "not of this accelerator, but of nano: conv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--architecture", "tpu"), "architecture 'tpu': unknown; known are eyeriss, shidiannao, lower-bound"),
        (("--strategy", "lucky"), "strategy 'lucky': unknown; known are naive,"),
        (("--strategy", "optimus-online"), "its table is of our machine's buffers; expected optimus-online-as-written"),
        (("--objective", "cycles"), "explain --architecture: tells groups and bytes; leave --objective,"),
        (("--memory",), "explain --architecture: tells groups and bytes"),
        (("--schedule",), "explain --architecture: tells groups and bytes"),
        (("-o", "x.svg"), "explain --architecture: tells groups and bytes"),
    ],
)
def test_what_is_not_known_of_it_is_refused(
    words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--architecture", "eyeriss", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert complaint in err


def test_a_program_is_for_its_own_machine(capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.elf").write_bytes(b"\x7fELF")
    assert main(["explain", "model.elf", "--architecture", "eyeriss"]) == 2
    assert "model.elf: a program is for its own machine; give the model" in capsys.readouterr().err


def test_an_unknown_accelerator_is_refused_before_the_model_is_read() -> None:
    with pytest.raises(TilewrightError, match="architecture 'tpu': unknown"):
        groups_on("tpu", "nowhere.onnx")
