"""The command line: what it prints, what it writes, and what each kind of bad input is answered with."""

from __future__ import annotations

import atexit
import gc
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from isa.assembler import assemble
from isa.config import PRESETS, config_from_dict, preset
from isa.debug import DebugRecord
from isa.export import c_header, tables
from isa.program import Program
from isa.program_file import load_program, save_program
from isa.reference import reference
from tilewright import cli
from tilewright.cli import COMMANDS, app, main, run
from tilewright.exits import Exit

ROOT = Path(__file__).parents[2]
NANO = preset("nano")
TEXT = "START config=CONFIG\nLOADP signal=CONV count=1 buffer=TAPS\nEND\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "program.s"
    path.write_text(TEXT, encoding="utf-8")
    return path


def tilewright(*arguments: str | Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_asm_then_disasm(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elf = source.with_suffix(".elf")
    assert tilewright("asm", source, "--config", "nano", capsys=capsys) == (0, f"{elf}: 7 words for nano\n", "")
    assert load_program(elf, NANO) == Program(NANO, tuple(assemble(TEXT, config=NANO)))
    code, out, _ = tilewright("disasm", elf, "--plain", capsys=capsys)
    assert (code, out) == (0, TEXT.replace("CONFIG", f"{NANO.hash:#x}"))
    code, out, _ = tilewright("disasm", elf, capsys=capsys)
    assert out.splitlines()[1] == "LOADP signal=CONV count=1 buffer=TAPS  ; 0x0002"


def test_disasm_names_layer_and_tile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.elf"
    save_program(Program(NANO, tuple(assemble(TEXT, config=NANO)), debug=(DebugRecord(2, "conv1", 3),)), path)
    _, out, _ = tilewright("disasm", path, capsys=capsys)
    assert "; 0x0002 conv1 tile 3\n" in out
    _, out, _ = tilewright("disasm", path, "--json", capsys=capsys)
    assert json.loads(out)["instructions"][1] == {
        "pc": 2, "text": "LOADP signal=CONV count=1 buffer=TAPS", "origin": "conv1 tile 3",
    }  # fmt: skip


def test_raw_words(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = source.with_suffix(".bin")
    assert tilewright("asm", source, "--raw", "--config", "nano", capsys=capsys)[0] == 0
    assert words.read_bytes() == b"".join(word.to_bytes(4, "little") for word in assemble(TEXT, config=NANO))
    _, out, _ = tilewright("disasm", "--raw", "--plain", words, capsys=capsys)
    assert out == TEXT.replace("CONFIG", f"{NANO.hash:#x}")
    words.write_bytes(b"12345")
    code, _, err = tilewright("disasm", "--raw", words, capsys=capsys)
    complaint = f"tilewright: {words}: 5 bytes are no whole number of words; if it is a program file, leave out --raw\n"
    assert (code, err) == (2, complaint)


def test_asm_reports_as_json_and_lets_the_illegal_through_when_told(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source.write_text("LOADP\n")
    output = source.with_name("x.elf")
    code, _, err = tilewright("asm", source, capsys=capsys)
    assert (code, err) == (2, f"tilewright: {source}:1: LOADP is illegal on base: count is 0, expected at least 1\n")
    code, out, _ = tilewright("asm", source, "--unchecked", "-o", output, "--json", capsys=capsys)
    assert (code, json.loads(out)) == (0, {"format": 1, "file": str(output), "config": "base", "words": 4})


def test_isa_prints_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert tilewright("isa", capsys=capsys) == (0, reference(), "")
    assert tilewright("isa", "--header", capsys=capsys) == (0, c_header(), "")
    code, out, _ = tilewright("isa", "--json", capsys=capsys)
    assert (code, json.loads(out)) == (0, {"format": 1, **tables()})
    code, _, err = tilewright("isa", "--json", "--header", capsys=capsys)
    assert (code, err) == (2, "tilewright: options --header and --json: one or the other; leave one out\n")


def test_config_lists_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = tilewright("config", "list", capsys=capsys)
    assert [line.split()[0] for line in out.splitlines()] == list(PRESETS)
    _, out, _ = tilewright("config", "list", "--json", capsys=capsys)
    assert [entry["macs_per_cycle"] for entry in json.loads(out)["configurations"]] == [16, 64, 256, 512, 1024, 576, 2048]
    _, shown, _ = tilewright("config", "show", "zu2", capsys=capsys)
    assert config_from_dict(tomllib.loads(shown), origin="shown") == preset("zu2")
    (tmp_path / "mine.toml").write_text(shown.replace("oc_p = 12", "oc_p = 24"))
    _, out, _ = tilewright("config", "show", tmp_path / "mine.toml", "--json", capsys=capsys)
    assert json.loads(out)["oc_p"] == 24


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["asm", "none.s"], "tilewright: none.s: No such file or directory"),
        (["asm", "."], "tilewright: .: Is a directory"),
        (["asm", "bytes.s"], "tilewright: bytes.s: not text: byte 0 is not UTF-8"),
        (["asm", "good.s", "-o", "good.s/x.elf"], "tilewright: good.s/x.elf cannot be written: good.s is not a folder"),
        (["asm", "good.s", "-o", "."], "tilewright: . cannot be written: "),
        (
            ["asm", "good.s", "--config", "giga"],
            "tilewright: configuration 'giga': neither a preset (nano, ulx3s, pynq, base, k26, zu2, zu9) nor",
        ),
        (["asm", "good.s", "--config", "none.toml"], "tilewright: configuration file 'none.toml' cannot be read: No such file"),
        (["asm"], "tilewright asm: Missing argument 'SOURCE'. See tilewright asm --help"),
        (["asm", "good.s", "--rwa"], "tilewright asm: No such option"),
        (["disasm", "good.s"], "tilewright: program file 'good.s': not an ELF file"),
        (["disasm", "none.elf"], "tilewright: program file 'none.elf' cannot be read: No such file or directory"),
        (["disasm", "--raw", "none.bin"], "tilewright: none.bin: No such file or directory"),
        (["config", "show", "huge"], "tilewright: configuration 'huge': neither a preset"),
        (["verilog"], "tilewright verilog: Missing option '-o' / '--output'. See tilewright verilog --help"),
        (["compiel"], "tilewright: No such command 'compiel', did you mean 'compile'?"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.s").write_text("END\n")
    Path("bytes.s").write_bytes(b"\xff")
    code, out, err = tilewright(*arguments, capsys=capsys)
    assert (code, out) == (Exit.BAD_INPUT, "")
    assert err.startswith(complaint)
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == ["bytes.s", "good.s"]


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = tilewright(capsys=capsys)
    assert (code, out) == (Exit.BAD_INPUT, "")
    assert all(f"  {name}" in err for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_in_the_words_of_the_overview(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = tilewright(name, "--help", capsys=capsys)
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: tilewright {name}")
    assert ("--json" in out) is (name != "config"), "text is for people; config has it below"
    assert re.search(r"^  Examples?:\n(    tilewright .+\n)+", out, re.MULTILINE), "help shows how it is called"
    command = app.get_command(click.Context(app), name)
    assert isinstance(command, click.Command)
    for parameter in command.params:
        assert isinstance(parameter, click.Argument) or getattr(parameter, "help", None), parameter.name


def test_an_interrupt_is_one_line_and_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("tilewright.commands.isa.reference", interrupt)
    code, out, err = tilewright("isa", capsys=capsys)
    assert (code, out, err.strip()) == (Exit.INTERRUPTED, "", "tilewright: interrupted")


def test_a_reader_that_leaves_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tilewright", "isa"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == Exit.OUTPUT_CLOSED


def test_output_that_cannot_be_written_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tilewright", "isa"], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (Exit.BAD_INPUT, "tilewright: No space left on device\n")


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from tilewright.cli import main; main(['--help']); print({'numpy', 'amaranth', 'onnx'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_completion_offers_commands() -> None:
    environment = {**os.environ, "_TILEWRIGHT_COMPLETE": "bash_complete", "COMP_WORDS": "tilewright dis", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert "disasm" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_has_a_script_for_every_shell(shell: str) -> None:
    environment = {**os.environ, "_TILEWRIGHT_COMPLETE": f"{shell}_source"}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert f"_TILEWRIGHT_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.parametrize(
    ("words", "offered"), [("run --en", "--engine"), ("run model.elf --engine ", "functional"), ("config s", "show")]
)
def test_completion_offers_options_choices_and_commands_below(words: str, offered: str) -> None:
    line = f"tilewright {words}"
    place = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    environment = {**os.environ, "_TILEWRIGHT_COMPLETE": "bash_complete", **place}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert offered in done.stdout


@pytest.mark.parametrize(("command", "collects"), [("verilog", False), ("package", False), ("compile", True)])
def test_a_process_that_only_writes_a_machine_looks_for_no_garbage(
    command: str, collects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    at_exit: list[object] = []

    def noted() -> int:
        seen.append(gc.isenabled())
        return Exit.DONE

    monkeypatch.setattr(cli, "catch_interrupts", lambda: None)
    monkeypatch.setattr(cli, "main", noted)
    monkeypatch.setattr(atexit, "register", at_exit.append)
    monkeypatch.setattr(sys, "argv", ["tilewright", command])
    try:
        with pytest.raises(SystemExit):
            run()
    finally:
        gc.enable()
    assert (seen, at_exit) == ([collects], [] if collects else [gc.freeze])
