"""Every command, used wrongly in every way that it can be: one line, exit code 2, and no file that was not there before."""

from __future__ import annotations

import re
import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from isa.config import preset
from sim.rtl.build import core_verilog
from tests.tilewright.permissions import with_permissions
from tests.tilewright.small_models import write_small_files
from tilewright.cli import COMMANDS, main
from tilewright.exits import Exit

NANO = ("--config", "nano")
MODEL = ("model.onnx", "--calibrate", "calibration.npz")


@dataclass(frozen=True)
class Use:
    """A command line that works, and which of its words are files that it reads, or writes."""

    words: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: str = ""
    folder: bool = False
    """What it writes is a folder."""


USES: dict[str, Use] = {
    "asm": Use(("asm", "program.s", *NANO, "-o", "new.elf"), ("program.s",), "new.elf"),
    "check": Use(("check", *MODEL, *NANO, "--input", "image.npz"), ("model.onnx", "calibration.npz", "image.npz")),
    "compile": Use(
        ("compile", *MODEL, *NANO, "--groups", "groups.json", "-o", "new.elf"),
        ("model.onnx", "calibration.npz", "groups.json"), "new.elf",
    ),
    "config": Use(("config", "show", "mine.toml"), ("mine.toml",)),
    "disasm": Use(("disasm", "model.elf"), ("model.elf",)),
    "driver": Use(("driver", "--config", "mine.toml", "-o", "new"), ("mine.toml",), "new", folder=True),
    "explain": Use(("explain", *MODEL, *NANO, "-o", "new.svg"), ("model.onnx", "calibration.npz"), "new.svg"),
    "explore": Use(
        ("explore", "--model", *MODEL, *NANO, "--luts", "90000", "--space", "space.toml", "--effort", "quick", "-o", "new"),
        ("model.onnx", "calibration.npz", "space.toml"), "new", folder=True,
    ),
    "fuzz": Use(("fuzz", "--config", "mine.toml", "--engine", "functional", "--count", "1"), ("mine.toml",)),
    "isa": Use(("isa",)),
    "ops": Use(("ops", "Conv")),
    "pack": Use(("pack", "model.elf", "-o", "new.bin"), ("model.elf",), "new.bin"),
    "package": Use(("package", "--for", "fusesoc", "--config", "mine.toml", "-o", "new"), ("mine.toml",), "new", folder=True),
    "place": Use(("place", "--config", "mine.toml", "-o", "new"), ("mine.toml",)),
    "prove": Use(("prove", "--config", "mine.toml"), ("mine.toml",)),
    "regress": Use(("regress", "--config", "mine.toml"), ("mine.toml",)),
    "report": Use(
        ("report", "model.elf", "--engine", "cycle", "--input", "image.npz", "-o", "new"), ("model.elf",), "new", folder=True
    ),
    "run": Use(("run", "model.elf", "--input", "image.npz", "-o", "new.npz"), ("model.elf", "image.npz"), "new.npz"),
    "size": Use(("size", "--config", "mine.toml"), ("mine.toml",)),
    "table": Use(("table", *MODEL, *NANO), ("model.onnx", "calibration.npz")),
    "trace": Use(("trace", "model.elf", "-o", "new.json"), ("model.elf",), "new.json"),
    "verilog": Use(("verilog", "--config", "mine.toml", "-o", "new"), ("mine.toml",), "new", folder=True),
}  # fmt: skip
WRITERS = [name for name, use in USES.items() if use.writes]
QUICK = [name for name in USES if name not in ("place", "prove", "regress", "size")]
"""These work for minutes before they have anything to print; their lines are tested in ``test_commands.py``."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    write_small_files(folder)
    (folder / "program.s").write_text("START config=CONFIG\nEND\n")
    (folder / "groups.json").write_text('[["conv"], ["pool"]]')
    (folder / "space.toml").write_text("oc_p = [4, 8]\n")
    (folder / "mine.toml").write_text('base = "nano"\nname = "nano"\n')
    core_verilog(preset("nano"))  # what is in the cache is not made again for each use
    model, calibration = str(folder / "model.onnx"), str(folder / "calibration.npz")
    assert main(["compile", model, "--calibrate", calibration, *NANO, "-o", str(folder / "model.elf")]) == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with everything that the uses read; afterwards nothing else is in it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    before = listing(tmp_path)
    yield tmp_path
    assert listing(tmp_path) == before


def listing(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.stat().st_size) for path in folder.rglob("*"))


def complaint(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command that must be refused says."""
    code = main(words)
    out, err = capsys.readouterr()
    assert (code, out) == (Exit.BAD_INPUT, ""), err
    assert err.startswith("tilewright")
    assert err.count("\n") == 1, err
    assert "Errno" not in err
    assert "None" not in err
    return err


def test_every_command_is_here() -> None:
    assert [*USES] == [*COMMANDS]


@pytest.mark.parametrize("name", USES)
def test_a_wrong_flag(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such option" in complaint((*USES[name].words, "--frobnicate"), capsys)


@pytest.mark.parametrize("name", USES)
def test_a_word_too_many(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = {"ops": "operator 'surplus'", "prove": "proof 'surplus'", "report": "report --input: one program takes inputs"}
    expected = taken.get(name, "Got unexpected extra argument")
    assert expected in complaint((*USES[name].words, "surplus"), capsys)


@pytest.mark.parametrize(("name", "file"), [(name, file) for name, use in USES.items() for file in use.reads])
@pytest.mark.parametrize("wrong", ["missing", "a folder", "noise", "empty"])
def test_a_file_that_cannot_be_read(wrong: str, name: str, file: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = here / f"bad{Path(file).suffix}"
    if wrong == "a folder":
        bad.mkdir()
    elif wrong != "missing":
        bad.write_bytes(b"\xff\x00noise\x7f" * 9 if wrong == "noise" else b"")
    words = tuple(bad.name if word == file else word for word in USES[name].words)
    if (name, wrong) == ("asm", "empty"):
        assert main(words) == 0, "no instruction is no mistake"
        (here / "new.elf").unlink()
        capsys.readouterr()
    else:
        assert bad.name in complaint(words, capsys)
    bad.rmdir() if wrong == "a folder" else bad.unlink(missing_ok=True)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("place", ["program.s/deep/new", "/proc/new", "/dev/null/new"])
def test_a_place_that_cannot_be_written_to(place: str, name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below a file; in a folder that takes no files, not even from root; below a device."""
    words = tuple(place if word == USES[name].writes else word for word in USES[name].words)
    assert f"{place}" in complaint(words, capsys)


@pytest.mark.parametrize(
    ("name", "file"), [(name, file) for name in WRITERS if not USES[name].folder for file in USES[name].reads]
)
def test_an_output_that_is_also_read(name: str, file: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (here / file).read_bytes()
    (here / "alias").symlink_to(file)
    words = tuple("alias" if word == USES[name].writes else word for word in USES[name].words)
    expected = f"tilewright: alias cannot be written: it is also read, as {file}; choose another name for the output\n"
    assert complaint(words, capsys) == expected
    assert (here / file).read_bytes() == before
    (here / "alias").unlink()


@pytest.mark.parametrize("option", ["--csv", "--save-onnx", "--save-schedule", "--arena"])
def test_no_program_is_left_where_something_beside_it_cannot_be_written(
    option: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("compile", *MODEL, *NANO, "--strategy", "naive", "-o", "new.elf", option, "/dev/full")
    assert "/dev/full cannot be written: No space left on device" in complaint(words, capsys)
    assert not (here / "new.elf").exists()


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_without_permission(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "closed").mkdir(mode=0o500)
    words = tuple("closed/new" if word == USES[name].writes else word for word in USES[name].words)
    assert "no permission to write in closed" in with_permissions(lambda: complaint(words, capsys))
    (here / "closed").rmdir()


def test_a_device_is_written_to_whoever_owns_its_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link stands for it: nobody but root makes devices."""
    (here / "closed").mkdir()
    (here / "closed" / "full").symlink_to("/dev/full")
    (here / "closed").chmod(0o500)
    words = tuple("closed/full" if word == USES["asm"].writes else word for word in USES["asm"].words)
    assert with_permissions(lambda: complaint(words, capsys)) == (
        "tilewright: closed/full cannot be written: No space left on device\n"
    )
    (here / "closed").chmod(0o700)
    (here / "closed" / "full").unlink()
    (here / "closed").rmdir()


@pytest.mark.parametrize("name", [name for name in WRITERS if not USES[name].folder])
def test_a_full_device(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = tuple("/dev/full" if word == USES[name].writes else word for word in USES[name].words)
    assert complaint(words, capsys) == "tilewright: /dev/full cannot be written: No space left on device\n"


@contextmanager
def small_files(limit: int) -> Iterator[None]:
    """No file may become larger than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_cache_that_has_no_room(
    here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with small_files(16):
        said = complaint(USES["explore"].words, capsys)
    assert re.fullmatch(r"tilewright: /.*/cache\d+/.*\.pickle cannot be written: File too large\n", said)


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_fills_up(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After 16 bytes: the old output stays, the new one leaves no part of itself.

    Python itself would leave the first bytes of what it compiles.
    """
    use = USES[name]
    if use.folder:
        main(use.words)  # so that what it keeps in the cache is there
        shutil.rmtree(use.writes)
        capsys.readouterr()
    else:
        Path(use.writes).write_text("old")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with small_files(16):
        said = complaint(use.words, capsys)
    assert said.startswith(f"tilewright: {use.writes}")
    assert said.endswith("cannot be written: File too large\n")
    if not use.folder:
        assert Path(use.writes).read_text() == "old"
        Path(use.writes).unlink()
    elif Path(use.writes).exists():
        assert [*Path(use.writes).iterdir()] == []
        Path(use.writes).rmdir()


@pytest.mark.parametrize("name", QUICK)
def test_a_full_disk_behind_standard_output(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with suppress(OSError), monkeypatch.context() as patch, open("/dev/full", "w") as full:
        patch.setattr(sys, "stdout", full)
        code = main(USES[name].words)
    assert (code, capsys.readouterr().err) == (Exit.BAD_INPUT, "tilewright: No space left on device\n")
    for written in (here / USES[name].writes,) if USES[name].writes else ():
        shutil.rmtree(written) if USES[name].folder else written.unlink()
