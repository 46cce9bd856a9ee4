"""The commands that hand over to other packages: what they pass on, print, write, and their exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from hw.delivery.style import Style
from isa.config import MachineConfig, load_config, preset
from sim.campaign.run import How
from sim.proof.engine import Verdict
from sim.proof.proofs import PROOFS
from sim.synthesis.place import Placed, Step
from sim.synthesis.size import Size
from sim.synthesis.targets import TARGETS, Target
from sim.synthesis.timing import Point
from tilewright.cli import main

DEMO = Path(__file__).parents[2] / "demo"

NANO = preset("nano")
CAMPAIGN = ("--workers", "3", "--scheduler", "tcp://here:1", "--record", "kept.jsonl", "--resume")
Install = Callable[[str, str, Callable[..., Any]], None]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Install:
    """``stand_in(module, name, function)``: the command finds that function in place of the real one."""

    def install(module: str, name: str, function: Callable[..., Any]) -> None:
        replacement = ModuleType(module)
        setattr(replacement, name, function)
        monkeypatch.setitem(sys.modules, module, replacement)

    return install


@dataclass
class Report:
    """What a fuzz run answers."""

    programs: int = 3
    instructions: int = 36
    cycles: int = 1000
    seconds: float = 0.25
    failures: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.failures


def test_verilog_writes_what_is_delivered_and_the_configuration(
    stand_in: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[Style, bool]] = []

    def core_verilog(config: MachineConfig, *, dsp48e2: bool, cores: int) -> str:
        return f"// {config.name} {dsp48e2}\n"

    def arrange(text: str, config: MachineConfig, style: Style) -> dict[str, str]:
        asked.append((style, "True" in text))
        return {style.source: f"// {config.name}\n" * 1024, f"{style.top}.vlt": "waivers\n"}

    stand_in("sim.rtl.build", "core_verilog", core_verilog)
    stand_in("hw.delivery.files", "arrange", arrange)
    folder = tmp_path / "made" / "here"
    assert main(["verilog", "--config", "nano", "-o", str(folder)]) == 0
    assert sorted(os.listdir(folder)) == ["config.json", "tilewright_core.v", "tilewright_core.vlt"]
    assert (folder / "tilewright_core.v").read_text() == "// nano\n" * 1024
    assert (folder / "config.json").read_text() == NANO.to_json()
    assert capsys.readouterr().out.splitlines()[0] == f"{folder / 'tilewright_core.v'}: 8192 bytes"
    options = ["--top", "npu", "--aresetn", "--no-initial", "--split-memories", "--dsp48e2"]
    assert main(["verilog", "--config", "nano", "-o", str(folder), *options, "--json"]) == 0
    names = ["npu.sv", "npu.vlt", "config.json"]
    assert json.loads(capsys.readouterr().out)["files"] == [str(folder / name) for name in names]
    asic = Style("npu", active_low=True, initial=False, split_memories=True, dsp48e2=True)
    assert asked == [(Style(), False), (asic, True)]


def test_verilog_under_a_name_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verilog", "-o", str(tmp_path), "--top", "two words"]) == 2
    assert capsys.readouterr().err == (
        "tilewright: name 'two words' of the outermost module: not a name in Verilog; use letters, digits and underscores, "
        "with a letter first, and no keyword\n"
    )


def test_an_interrupted_verilog_leaves_what_was_there(stand_in: Install, tmp_path: Path) -> None:
    def interrupted(config: MachineConfig, *, dsp48e2: bool, cores: int) -> str:
        raise KeyboardInterrupt

    stand_in("sim.rtl.build", "core_verilog", interrupted)
    (tmp_path / "tilewright_core.v").write_text("old")
    assert main(["verilog", "-o", str(tmp_path)]) == 130
    assert os.listdir(tmp_path) == ["tilewright_core.v"]
    assert (tmp_path / "tilewright_core.v").read_text() == "old"


def test_verilog_into_a_file_is_refused(stand_in: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stand_in("sim.rtl.build", "core_verilog", lambda config, dsp48e2, cores: "")
    (tmp_path / "file").write_text("")
    assert main(["verilog", "-o", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err == (
        f"tilewright: {tmp_path}/file/tilewright_core.v cannot be written: {tmp_path}/file is not a folder\n"
    )


def test_fuzz_passes_on_what_it_is_given(stand_in: Install, capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[Any] = []

    def run_fuzz(
        *arguments: Any, report: Callable[[str], None], progress: Callable[[int, int], None], **options: Any
    ) -> Report:
        calls.append((arguments, options))
        report("seed 8: 3 bytes differ")
        progress(1, 1000)
        return Report()

    stand_in("sim.random.fuzz", "run_fuzz", run_fuzz)
    assert main(["fuzz", "--seed", "7", "--count", "3", "--engine", "functional", "-o", "kept", "--keep-going", *CAMPAIGN]) == 0
    how = How(3, "tcp://here:1", Path("kept.jsonl"), resume=True)
    assert calls == [((NANO, 7, 3, "functional"), {"directory": Path("kept"), "keep_going": True, "how": how})]
    out, err = capsys.readouterr()
    assert out == "nano, functional: 3 programs, 36 instructions, 1000 cycles in 0.2 s; no mismatches\n"
    assert err == "seed 8: 3 bytes differ\n", "progress is for terminals"


def test_fuzz_ends_with_1_after_a_mismatch(stand_in: Install, capsys: pytest.CaptureFixture[str]) -> None:
    stand_in("sim.random.fuzz", "run_fuzz", lambda *_, **__: Report(failures=["seed 7: 1 bytes differ"]))
    assert main(["fuzz"]) == 1
    assert capsys.readouterr().out.endswith("; 1 mismatches\n")
    assert main(["fuzz", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["failures"] == ["seed 7: 1 bytes differ"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--count", "0"], "tilewright fuzz: Invalid value for '--count'"),
        (["--seed", "-1"], "tilewright fuzz: Invalid value for '--seed'"),
        (["--engine", "quantum"], "tilewright fuzz: Invalid value for '--engine'"),
    ],
)
def test_fuzz_refuses_what_it_cannot_run(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith(complaint)
    assert err.count("\n") == 1


def test_regress_prints_a_line_for_each_bench_and_goes_on_after_a_failure(
    stand_in: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[Any] = []

    def run_regress(*arguments: Any, how: How) -> list[tuple[str, bool, str, float]]:
        calls.append(arguments)
        return [("tokens", False, "scenario 2: hangs", 1.26), ("watchdog", True, "A token that never comes.", 0.5)]

    stand_in("sim.rtl.regress", "run_regress", run_regress)
    assert main(["regress", "--config", "nano", "--simulator", "icarus"]) == 1
    assert calls == [(NANO, "icarus")]
    failed, passed = capsys.readouterr().out.splitlines()
    assert failed.split() == ["FAIL", "tokens", "1.3", "s", "scenario", "2:", "hangs"]
    assert passed.startswith("pass  watchdog ")
    assert main(["regress", "--json"]) == 1
    assert [row["passed"] for row in json.loads(capsys.readouterr().out)["benches"]] == [False, True]
    assert main(["regress", "--config", "nano", "--junit", str(tmp_path / "benches.xml")]) == 1
    suite = ElementTree.parse(tmp_path / "benches.xml").find("testsuite")
    assert suite is not None
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("nano.verilator", "2", "1")
    told = [(case.get("name"), [failure.get("message") for failure in case]) for case in suite]
    assert told == [("tokens", ["scenario 2: hangs"]), ("watchdog", [])]


def test_prove_prints_a_line_for_each_proof_and_goes_on_after_a_failure(
    stand_in: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = Verdict(PROOFS["credits"], "from the reset: Assert failed", 1.26)
    stand_in("sim.proof.proofs", "run_proofs", lambda *_: [failed, Verdict(PROOFS["tokens"], None, 0.5)])
    assert main(["prove", "--config", "nano"]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["FAIL", "credits", "induction,", "2", "1.3", "s", "from", "the", "reset:", "Assert", "failed"]
    assert second.startswith("proved  tokens ")
    assert main(["prove", "--json"]) == 1
    assert [row["failure"] for row in json.loads(capsys.readouterr().out)["proofs"]] == [failed.failure, None]


def test_regress_is_done_when_every_bench_passes(stand_in: Install) -> None:
    stand_in("sim.rtl.regress", "run_regress", lambda *_, **__: [("tokens", True, "Tokens.", 1.0)])
    assert main(["regress"]) == 0


@pytest.mark.parametrize("package", ["cocotb_tools", "verilator"])
def test_a_package_of_an_extra_that_is_missing_is_named(
    package: str, stand_in: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_regress(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError(name=f"{package}.runner")

    stand_in("sim.rtl.regress", "run_regress", run_regress)
    assert main(["regress"]) == 2
    assert capsys.readouterr().err == (
        f"tilewright: the Python package {package} is not installed: pip install 'tilewright[rtl]'\n"
    )


def test_any_other_missing_module_is_our_fault_and_shows_its_traceback(stand_in: Install) -> None:
    def run_regress(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError(name="sim.rtl.nowhere")

    stand_in("sim.rtl.regress", "run_regress", run_regress)
    with pytest.raises(ModuleNotFoundError):
        main(["regress"])


SIZE = Size(
    TARGETS["ecp5"], "yosys 1", {"LUT": 30000, "LUT as memory": 6, "FF": 12, "DSP": 28, "BRAM": 2.5},
    {"load": {"LUT": 10000, "LUT as memory": 6, "FF": 12, "DSP": 28, "BRAM": 2.5}},
    {"leaf": (2, {"LUT": 5000, "LUT as memory": 3, "FF": 6, "DSP": 14, "BRAM": 1.25})},
)  # fmt: skip


def test_size_compares_with_the_chip(stand_in: Install, capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[Any] = []

    def size_of(config: MachineConfig, target: Target, *, report: Callable[[str], None], jobs: int | None) -> Size:
        calls.append((config.name, target.name, jobs))
        return SIZE

    stand_in("sim.synthesis.size", "size_of", size_of)
    assert main(["size", "--config", "nano", "--modules", "1"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["nano", "on", "ecp5,", "yosys", "1,", "module", "by", "module"]
    assert lines[2:6] == [
        ["load", "10000", "6", "12", "28", "2.5"], ["all", "30000", "6", "12", "28", "2.5"],
        ["LFE5U-25F", "24288", "24288", "28", "56"], ["of", "it", "124%", "0%", "100%", "4%"],
    ]  # fmt: skip
    assert lines[6:] == [["does", "not", "fit:", "LUT"], ["2", "x", "leaf", "5000", "3", "6", "14", "1.25"]]
    assert main(["size", "--config", "base", "--target", "ecp5", "--jobs", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["total"]["LUT"], found["capacity"], found["chip"]) == (30000, {}, "XCK26"), "a chip of another family"
    assert calls == [("nano", "ecp5", None), ("base", "ecp5", 3)]


def test_size_is_estimated_at_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["size", "--config", "base", "--estimate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "base on xcup, by a formula"
    assert re.fullmatch(r"LUT +[\d,]+ within \d+% of 117,120, \d+%", lines[1])
    assert main(["size", "--config", "base", "--estimate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimate"].keys() >= {"LUT", "FF", "DSP", "BRAM"}
    monkeypatch.setattr("isa.estimate.coefficients", dict)
    assert main(["size", "--config", "base", "--estimate", "--target", "xc7"]) == 2
    assert "family xc7: no machine of it was measured" in capsys.readouterr().err


def test_machines_are_suggested_for_a_chip_and_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted, model = tmp_path / "mine.toml", str(DEMO / "digits.onnx")
    assert main(["config", "suggest", "--chip", "XCK26", "--model", model, "-o", str(wanted), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["suggestions"]
    cycles = [one["estimated_cycles"] for one in found]
    assert cycles == sorted(cycles)
    mhz = load_config(str(wanted)).clock_mhz
    assert found[0]["ms_on_machine"] == pytest.approx(cycles[0] / mhz / 1000), "the whole time has parts on the CPU besides"
    assert load_config(str(wanted)).name == found[0]["name"]
    chip = tmp_path / "chip.toml"
    chip.write_text('[chip]\nname = "OWN"\nfamily = "xcup"\nLUT = 60000\nFF = 120000\nDSP = 300\nBRAM = 200\n')
    assert main(["config", "suggest", "--chip", str(chip)]) == 0
    assert "MAC/cycle" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    ("chip", "told"),
    [("XC2064", "'XC2064' is unknown; known are"), ("", "a chip is named by a word"), ("none.toml", "cannot be read: ")],
)
def test_a_chip_that_is_none_is_refused(chip: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "suggest", "--chip", chip]) == 2
    assert told in capsys.readouterr().err


def test_place_prints_cells_clock_and_path(stand_in: Install, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls: list[Any] = []
    path = (Step("clk-to-q", 0.5, Point("load.x", "hw/move/load.py:3")), Step("setup", 16.0, Point("conv.y", "")))

    def place(verilog: str, sources: dict[str, str], *, report: Callable[[str], None], **options: Any) -> Placed:
        calls.append((verilog, options))
        cells, routed = {"DCCA": (1, 56), "TRELLIS_COMB": (9, 10)}, options["route"]
        return Placed("yosys 1, nextpnr-ecp5 2", "85k", routed, 62.5, 80.0, cells, path if routed else ())

    stand_in("sim.synthesis.place", "place", place)
    stand_in("sim.rtl.build", "core_verilog", lambda config: f"// {config.name}")
    sys.modules["sim.rtl.build"].core_sources = lambda config: {}  # type: ignore[attr-defined]
    words = ["place", "--device", "85k", "--mhz", "80", "--seed", "3", "--placer", "heap", "-o", str(tmp_path / "new")]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines() == [
        "nano on ECP5 85k, yosys 1, nextpnr-ecp5 2: placed and routed",
        "TRELLIS_COMB           9 of     10    90%",
        "DCCA                   1 of     56     2%",
        "62.5 MHz, 80 asked; the critical path:",
        "    0.50 ns  clk-to-q  load.x (hw/move/load.py:3)",
        "   16.00 ns  setup     conv.y",
    ]
    options = {"device": "85k", "mhz": 80.0, "route": True, "seed": 3, "placer": "heap", "folder": tmp_path / "new"}
    assert calls == [("// nano", options)]
    assert main(["place", "--config", "base", "--no-route"]) == 0
    assert "warning: base is probably beyond its chip LFE5U-25F" in capsys.readouterr().err
    assert main(["place", "--no-route"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith(": placed, routing estimated")
    assert said[-1] == "62.5 MHz, 80 asked; routed, the critical path is told, too"
    assert main(["place", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mhz"] == 62.5
    assert calls[-1][1]["mhz"] == NANO.clock_mhz
    (tmp_path / "file").touch()
    assert main(["place", "-o", str(tmp_path / "file" / "deeper")]) == 2
