"""The driver's sources: clean for the compiler, small, without recursion, and nothing that a bare machine lacks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import networkx
import pytest

from driver.sources import CONFIG_HEADER, HEADER
from isa.export import c_header
from tests.driver.building import HERE, NANO, WARNINGS, write_driver
from tests.tools import needs
from tilewright.cli import main

ONE_MACHINE = "-DTW_MACHINES=1"
BARE = ("-Os", "-march=rv32imac", "-mabi=ilp32", "-ffreestanding")
CODE_LIMIT, CODE_OF_SEVERAL = 8448, 8960
"""Bytes of the whole driver, for one machine and for several: it is to stay small beside a network."""
MAY_ASK_FOR = {"memcpy", "memset", "memmove"}
"""What a compiler may put into any program."""
STUBS = """
void *memcpy(void *a, const void *b, __SIZE_TYPE__ n) { char *p = a; while (n--) p[n] = ((const char *)b)[n]; return a; }
void *memset(void *a, int c, __SIZE_TYPE__ n) { volatile char *p = a; while (n--) p[n] = (char)c; return a; }
void _start(void) {}
"""


def compiled_with(compiler: str, folder: Path, *options: str) -> None:
    write_driver(folder)
    for source in sorted(folder.glob("*.c")):
        subprocess.run([compiler, *WARNINGS, *options, "-c", source.name], cwd=folder, check=True)


@pytest.mark.parametrize(
    "options", [("-O2",), ("-O0", "-Wshadow", "-Wsign-conversion", "-Wvla"), ("-DTW_NO_TEXT",), (ONE_MACHINE,), ("-m32",)]
)
def test_no_warning(options: tuple[str, ...], tmp_path: Path) -> None:
    if "-m32" in options:
        options = (*options, "-ffreestanding")  # whose headers are the compiler's own
    compiled_with("gcc", tmp_path, *options)


def test_nothing_calls_itself_and_stacks_are_small(tmp_path: Path) -> None:
    """Calls through the port's functions are not followed: those are the caller's."""
    compiled_with("gcc", tmp_path, "-O1", "-fcallgraph-info=su")
    calls = networkx.DiGraph()
    stacks: dict[str, int] = {}
    for path in tmp_path.glob("*.ci"):
        text = path.read_text()
        calls.add_edges_from(re.findall(r'sourcename: "([^"]+)" targetname: "([^"]+)"', text))
        stacks |= {name: int(size) for name, size in re.findall(r'label: "(\w+)\\n[^"]*?(\d+) bytes \(static\)', text)}
    assert calls.has_edge("tw_infer", "tw_finish")
    assert list(networkx.simple_cycles(calls)) == []
    assert len(stacks) > 40
    assert max(stacks.values()) < 512


def test_it_asks_for_nothing(tmp_path: Path) -> None:
    compiled_with("gcc", tmp_path, "-Os", "-ffreestanding", "-fno-stack-protector")
    subprocess.run(["ld", "-r", "-o", "driver.o", *(p.name for p in tmp_path.glob("*.o"))], cwd=tmp_path, check=True)
    listing = subprocess.run(["nm", "-u", "driver.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert set(listing.split()) - {"U"} <= MAY_ASK_FOR | {"_GLOBAL_OFFSET_TABLE_"}
    sizes = subprocess.run(["size", "-A", "driver.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    writable = {name: int(size) for name, size in re.findall(r"^(\.data|\.bss)\s+(\d+)", sizes, re.MULTILINE)}
    assert writable == {".data": 0, ".bss": 0}


@needs("riscv64-unknown-elf-gcc")
def test_code_for_a_small_riscv(tmp_path: Path) -> None:
    compiled_with("riscv64-unknown-elf-gcc", tmp_path, *BARE)
    assert riscv_code(tmp_path) < CODE_OF_SEVERAL
    compiled_with("riscv64-unknown-elf-gcc", tmp_path, *BARE, ONE_MACHINE)
    assert riscv_code(tmp_path) < CODE_LIMIT


def riscv_code(folder: Path) -> int:
    """Bytes of all functions of the driver as they are linked; libgcc's, for products and floats, are not counted."""
    (folder / "stub.c").write_text(STUBS)
    command = ["riscv64-unknown-elf-gcc", *BARE, "-nostdlib", *(p.name for p in folder.glob("tw_*.o")), "stub.c", "-lgcc"]
    subprocess.run([*command, "-o", "linked"], cwd=folder, check=True)
    mine: set[str] = set()
    for path in folder.glob("tw_*.o"):
        mine |= set(symbols(path))
    return sum(size for name, size in symbols(folder / "linked").items() if name in mine)


def symbols(path: Path) -> dict[str, int]:
    """Functions, by their bytes."""
    listing = subprocess.run(["riscv64-unknown-elf-nm", "-S", path], capture_output=True, text=True, check=True).stdout
    return {name: int(size, 16) for size, name in re.findall(r"^\w+ (\w+) [tT] (\S+)$", listing, re.MULTILINE)}


def test_the_command_writes_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["driver", "-o", str(tmp_path / "plain")]) == 0
    assert main(["driver", "-o", str(tmp_path / "with"), "--config", "nano", "--json"]) == 0
    plain, configured = ({p.name: p.read_text() for p in (tmp_path / f).iterdir()} for f in ("plain", "with"))
    assert configured.pop(CONFIG_HEADER).count(f"{NANO.hash:#010x}u") == 1
    assert plain == configured
    assert plain[HEADER] == c_header()
    assert "tw_infer(" in plain["tilewright_driver.h"]
    assert f"{tmp_path / 'plain' / HEADER}: " in capsys.readouterr().out


def test_files_of_the_driver_are_short() -> None:
    folder = Path(__file__).parents[2] / "driver" / "src"
    files = [path for place in (folder, HERE) for path in place.rglob("*.[ch]")]
    lengths = {path.name: path.read_text().count("\n") for path in files}
    assert max(lengths.values()) <= 400
    assert max(len(line) for path in files for line in path.read_text().splitlines()) <= 128


def test_cpp_takes_the_headers(tmp_path: Path) -> None:
    write_driver(tmp_path)
    (tmp_path / "main.cpp").write_text('#include "tilewright_driver.h"\nint main() { return TW_OK; }\n')
    subprocess.run(["g++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "main.cpp"], cwd=tmp_path, check=True)
