"""What builds share."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hw.emit import Emitted
from isa.config import MachineConfig, preset
from sim.random.engines import rtl_machine
from sim.rtl import compiler, machine
from sim.rtl.build import HERE, Build, core_verilog, runtime_objects
from sim.rtl.compiler import LEVEL, LEVEL_FLAGS, ONE_BUILD, compiler_name
from sim.rtl.machine import RtlMachine
from sim.rtl.model_files import gathered, quickened
from sim.rtl.process import run_process
from sim.rtl.tools import MissingToolError
from sim.rtl.verilator import Toolchain, verilator_root

BUILD = Build("verilator", "module tilewright_bench; endmodule", {})
VERILATORS = ["verilated", "verilated_dpi", "verilated_threads"]
"""What of Verilator's own sources is in a simulation."""


def given(directory: Path, objects: Path, build: Build) -> list[str]:
    """What a build finds that would compile two files."""
    objects.mkdir()
    with runtime_objects(directory, objects, build):
        found = sorted(file.name for file in objects.iterdir())
        for name in ("verilated.o", "Vtilewright_bench.o"):
            (objects / name).write_bytes(b"code")
    return found


def test_verilators_own_objects_are_kept_for_builds_of_the_same_kind(tmp_path: Path) -> None:
    assert given(tmp_path, tmp_path / "first", BUILD) == []
    assert given(tmp_path, tmp_path / "second", replace(BUILD, verilog="module other; endmodule")) == ["verilated.o"]
    assert given(tmp_path, tmp_path / "counting", replace(BUILD, coverage=True)) == []
    assert given(tmp_path, tmp_path / "shared", replace(BUILD, library=True)) == []


def failing(directory: Path, objects: Path) -> None:
    objects.mkdir()
    with runtime_objects(directory, objects, BUILD):
        (objects / "verilated.o").write_bytes(b"half")
        raise RuntimeError


def test_a_build_that_fails_leaves_none(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        failing(tmp_path, tmp_path / "failed")
    assert given(tmp_path, tmp_path / "next", BUILD) == []


STANDIN = (Path(__file__).parent / "standin_core.v").read_text()
NO_OPTIONAL_UNITS = replace(preset("nano"), build_pool=False, build_misc=False)


def test_make_compiles_a_model_in_few_files_and_verilators_own_sources_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of Verilator's own sources its makefile makes anew what is older than itself."""
    compiled: list[list[str]] = []

    def without_compiling(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None) -> tuple[int, str]:
        if command[0] != "make":
            return run_process(command, cwd, env)
        status, output = run_process([*command, "--dry-run"], cwd, env)
        compiled.append(sorted(Path(name).stem for name in re.findall(r" -c .*?(\S+\.(?:cpp|h))$", output, re.MULTILINE)))
        for name in VERILATORS:
            (cwd / f"{name}.o").write_bytes(b"code")
        return status, output

    monkeypatch.setattr("sim.rtl.tools.run_process", without_compiling)
    monkeypatch.delenv(ONE_BUILD)
    for brief in (False, True):
        RtlMachine(NO_OPTIONAL_UNITS, cache=tmp_path / "with blanks", verilog=STANDIN, brief=brief).build()
    assert compiled == [["gathered_0", "gathered_1", "gathered_slow", *VERILATORS], ["gathered_0", "gathered_slow"]]


def test_each_file_is_gathered_once_and_in_verilators_order(tmp_path: Path) -> None:
    sizes = {
        "Vtop": 10, "Vtop__Dpi": 1, "Vtop__0": 90, "Vtop__2": 60, "Vtop__10": 25, "Vtop__Syms__Slow": 4, "Vtop__0__Slow": 5,
    }
    for name, size in sizes.items():
        (tmp_path / f"{name}.cpp").write_text("/" * size)
    told = gathered(tmp_path, "Vtop", [Path("/some/main.cpp")], parts=2)
    found = {path.stem: re.findall(r'/(\w+).cpp"', path.read_text()) for path in tmp_path.glob("gathered*")}
    assert found == {
        "gathered_0": ["Vtop", "Vtop__Dpi", "Vtop__0"],
        "gathered_1": ["Vtop__2", "Vtop__10", "main"],
        "gathered_slow": ["Vtop__Syms__Slow", "Vtop__0__Slow"],
    }
    assert {"VM_USER_CLASSES=gathered_0 gathered_1", "VM_CLASSES_FAST=", "VM_CLASSES_SLOW=gathered_slow"} <= set(told)


def test_a_build_for_short_programs_is_one_of_its_own_and_optimised_less() -> None:
    assert replace(BUILD, brief=True).key != BUILD.key
    levels = [Toolchain(brief).environment()["MAKEFLAGS"].rpartition("OPT_FAST=")[2] for brief in (False, True)]
    assert [level.partition("\\")[0] for level in levels] == ["-O3", "-O1"]


def put(folder: Path, name: str, says: str) -> None:
    """A program that tells its version, and no more."""
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that alone is on PATH: with g++ and make. The processor is none that is known."""
    monkeypatch.setattr(compiler, "PROCESSOR", tmp_path / "cpuinfo")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    for name in ("g++", "make"):
        put(tmp_path, name, f"{name} (some) 1.0")
    return tmp_path


def make_flags() -> dict[str, str]:
    return dict(flag.partition("=")[::2] for flag in Toolchain().environment()["MAKEFLAGS"].split())


def test_what_is_there_compiles_the_quicker_first(tools: Path) -> None:
    assert make_flags()["CXX"] == "g++"
    put(tools, "clang++", "some clang version 1.0")
    flags = make_flags()
    assert (flags["CXX"], flags["LINK"]) == ("clang++", "clang++")


def test_the_environment_names_another(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tools, "clang++", "some clang version 1.0")
    other = BUILD.key
    monkeypatch.setenv("CXX", "g++")
    assert make_flags()["CXX"] == "g++"
    assert BUILD.key != other


def test_a_compiler_that_the_environment_names_must_be_there(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "c++-of-tomorrow")
    with pytest.raises(MissingToolError, match=r"'c\+\+-of-tomorrow' is not on PATH; the environment's CXX names it"):
        Toolchain().environment()


def test_how_a_compiled_header_is_given_goes_by_what_the_compiler_says_it_is(tools: Path) -> None:
    assert make_flags()["CFG_CXXFLAGS_PCH_I"] == "-include"
    put(tools, "g++", "Some clang version 1.0")
    assert make_flags()["CFG_CXXFLAGS_PCH_I"] == "-include-pch"


@pytest.mark.parametrize(
    ("lacks", "refuses", "expected"), [("", False, LEVEL), ("bmi2", False, None), ("", True, None)],
    ids=["both know it", "an older processor", "an older compiler"],
)  # fmt: skip
def test_a_machine_is_compiled_for_the_level_that_processor_and_compiler_have(
    tools: Path, monkeypatch: pytest.MonkeyPatch, lacks: str, refuses: bool, expected: str | None
) -> None:
    cpuinfo = tools / f"cpuinfo{lacks}"
    cpuinfo.write_text(f"processor\t: 0\nflags\t\t: fpu {' '.join(sorted(LEVEL_FLAGS - {lacks}))} sse2\n")
    monkeypatch.setattr(compiler, "PROCESSOR", cpuinfo)
    if refuses:
        (tools / "g++").write_text("#!/bin/sh\necho 'g++ (some) 1.0'\ntest $1 = --version\n")
    flags = Toolchain().environment()["MAKEFLAGS"].rpartition("OPT_FAST=")[2]
    assert flags == (f"-O3\\ {expected}" if expected else "-O3")


def test_what_runs_long_is_compiled_by_who_makes_it_faster_on_the_processor(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tools, "clang++", "some clang version 1.0")
    for family, expected in ((25, "clang++"), (26, "g++")):
        cpuinfo = tools / f"cpuinfo{family}"
        cpuinfo.write_text(f"vendor_id\t: AuthenticAMD\ncpu family\t: {family}\n\nvendor_id\t: another\n")
        monkeypatch.setattr(compiler, "PROCESSOR", cpuinfo)
        assert (compiler_name(), compiler_name(brief=True)) == (expected, "clang++")
    (tools / "g++").unlink()
    assert compiler_name() == "clang++"


def test_another_level_is_another_build(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "PROCESSOR", tools / "none")
    other = BUILD.key
    monkeypatch.setattr("sim.rtl.build.processor_options", lambda _: (LEVEL,))
    assert BUILD.key != other


def test_random_programs_run_on_such_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Build] = []

    def seen(build: Build, cache: object) -> Path:
        built.append(build)
        return Path("sim")

    monkeypatch.setattr(machine, "executable", seen)
    monkeypatch.setattr(machine, "core_verilog", lambda *_: "")
    monkeypatch.setenv(ONE_BUILD, "")
    RtlMachine(preset("nano")).build()
    rtl_machine.__wrapped__(preset("nano")).build()
    assert [build.brief for build in built] == [False, True]


def test_the_environment_asks_for_one_build_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []

    def seen(build: Build, cache: object) -> Path:
        keys.append(build.key)
        return Path("sim")

    monkeypatch.setattr(machine, "executable", seen)
    monkeypatch.setattr(machine, "core_verilog", lambda *_: "")
    for asked in ("", "yes"):
        monkeypatch.setenv(ONE_BUILD, asked)
        RtlMachine(preset("nano")).build()
        rtl_machine.__wrapped__(preset("nano")).build()
    plain, checked, *one = keys
    assert plain != checked
    assert one == [checked] * 2


def test_how_slow_dram_is_changes_no_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [path for path in (HERE.parents[1] / "hw").rglob("*.py") if "dram_latency" in path.read_text(encoding="utf-8")] == []
    made: list[MachineConfig] = []

    def emit(config: MachineConfig, **_: object) -> Emitted:
        made.append(config)
        return Emitted("module core; endmodule", {})

    monkeypatch.setattr("hw.emit.emit", emit)
    for latency in (64, 150):
        core_verilog(replace(preset("nano"), dram_latency=latency), tmp_path)
    core_verilog(replace(preset("nano"), axi_reads=1), tmp_path)
    assert [config.axi_reads for config in made] == [preset("nano").axi_reads, 1]


def test_libraries_of_a_build_stay_beside_those_of_the_compiler(tools: Path) -> None:
    put(tools, "clang++", "some clang version 1.0")
    assert "LDLIBS" not in make_flags(), "said to make, it would replace what cocotb and shared libraries are linked with"


def test_short_signals_have_words_of_their_own() -> None:
    header = """\
class Vtop___024root final {
        CData/*0:0*/ go;
        SData/*11:0*/ count;
        IData/*31:0*/ word;
        VlUnpacked<CData/*7:0*/, 64> bytes;
"""
    made = quickened(header)
    assert "        alignas(4) CData/*0:0*/ go;\n        alignas(4) SData/*11:0*/ count;\n        IData/*31:0*/ word;" in made
    assert "        VlUnpacked<CData/*7:0*/, 64> bytes;" in made, "memories are as dense as before"
    assert made.endswith('#include "signs.h"\n')


SIGNS = """
#include <cstdio>
#include <random>
#include "verilated.h"
static QData product(int bits, QData a, QData b) { return VL_MULS_QQQ(bits, a, b); }
static QData extended_q(int bits, QData a) { return VL_EXTENDS_QQ(64, bits, a); }
static QData extended_qi(int bits, IData a) { return VL_EXTENDS_QI(64, bits, a); }
static IData extended_i(int bits, IData a) { return VL_EXTENDS_II(32, bits, a); }
#include "signs.h"
static QData low(int bits, QData a) { return bits == 64 ? a : a & ((1ULL << bits) - 1); }
int main() {
    std::mt19937_64 random;
    long differ = 0;
    for (int bits = 1; bits <= 64; bits++)
        for (int n = 0; n < 1000; n++) {
            const QData a = low(bits, random()), b = low(bits, random());
            differ += low(bits, product(bits, a, b)) != low(bits, VL_MULS_QQQ(bits, a, b));
            differ += extended_q(bits, a) != VL_EXTENDS_QQ(64, bits, a);
            if (bits > 32) continue;
            differ += extended_qi(bits, a) != VL_EXTENDS_QI(64, bits, (IData)a);
            differ += extended_i(bits, a) != VL_EXTENDS_II(32, bits, a);
        }
    std::printf("%ld", differ);
}
"""


def test_signs_are_what_verilators_functions_make_of_them(tmp_path: Path) -> None:
    include = verilator_root() / "include"
    (tmp_path / "signs.cpp").write_text(SIGNS)
    folders = [f"-I{folder}" for folder in (include, include / "vltstd", HERE)]
    command = [compiler_name(), "-std=c++20", "-O1", *folders, "signs.cpp", "-o", "signs"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    found = subprocess.run([tmp_path / "signs"], check=True, capture_output=True, text=True)
    assert found.stdout == "0"
