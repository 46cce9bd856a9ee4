"""compile, run, check and ops: what they print and write, exit codes, and the answer to every bad file."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from compiler.frontend.session import run as run_onnx
from isa.program_file import load_program
from tests.tilewright.small_models import float_model, images, odd_model, pictures, write_small_files
from tilewright.cli import main
from tilewright.exits import Exit

COMPILE = ("compile", "model.onnx", "--config", "nano", "--calibrate", "calibration.npz", "-o", "model.elf")
CHECK = ("check", "model.onnx", "--config", "nano", "--calibrate", "calibration.npz")
INPUTS = ["calibration.npz", "image.npz", "model.onnx"]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small files and ``model.elf``."""
    folder = tmp_path_factory.mktemp("compiled")
    write_small_files(folder)
    names = {"model.onnx", "calibration.npz", "model.elf"}
    assert main([str(folder / word) if word in names else word for word in COMPILE]) == 0
    return folder


@pytest.fixture
def folder(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the inputs."""
    for name in INPUTS:
        shutil.copy(compiled / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_compile_prints_a_summary_and_writes_a_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *COMPILE, "--verbose")
    assert (code, err) == (0, "")
    facts = dict(line.split(None, 1) for line in out.splitlines() if line.startswith(("MACs  ", "instructions", "groups")))
    assert facts["MACs"].strip() == f"{5 * 3 * 9 * 36:,}"
    assert "node on the CPU: softmax: no unit computes it (" in out
    assert "on the CPU: Softmax softmax: no unit computes it. Costs a transfer, with 1 more node because of it. The " in out
    assert out.count("\ngroup ") == int(facts["groups"])
    program = load_program(folder / "model.elf")
    assert len(program.debug) == int(facts["instructions"])


def test_compile_into_little_memory(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With inputs and outputs in WORK the program still gives the same answers."""
    answers = []
    for name, memory, needed, input_bytes in (("plain.elf", "1K", 384, 128), ("small.elf", "383", 320, 0)):
        code, out, _ = run(capsys, *COMPILE[:-1], name, "--strategy", "naive", "--memory", memory, "--json")
        facts = json.loads(out)
        assert (code, facts["dram_for_feature_maps"], facts["inputs_and_outputs"] != "") == (0, needed, input_bytes == 0)
        assert load_program(Path(name)).input_bytes == input_bytes
        assert run(capsys, "run", name, "--input", "image.npz", "-o", "out.npz")[0] == 0
        answers.append(np.load("out.npz")["answer"])
    assert np.array_equal(*answers)


def test_compile_for_scripts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *COMPILE, "--json", "--strategy", "naive")
    facts = json.loads(out)
    assert (code, err, facts["output"], facts["groups"]) == (0, "", "model.elf", 2)
    assert set(facts["seconds"]) >= {"import", "search", "emit", "pack"}


def test_groups_can_be_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("groups.json").write_text('[["conv", "pool"]]')
    assert json.loads(run(capsys, *COMPILE, "--json", "--groups", "groups.json")[1])["groups"] == 1


def test_accuracy_before_and_after_quantisation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = images(4)
    answers = [run_onnx(float_model(), {"image": image[None]})["answer"].argmax() for image in data]
    np.savez("labelled.npz", image=data, labels=answers)
    accuracy = json.loads(run(capsys, *COMPILE, "--json", "--validate", "labelled.npz")[1])["accuracy"]
    assert accuracy.startswith("4 samples: float 4 right, quantised ")


def test_signal_to_noise_of_each_layer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, for scripts, and in the report."""
    code, out, err = run(capsys, *COMPILE, "--validate", "calibration.npz")
    rows = [line for line in out.splitlines() if line.startswith("signal to noise: ")]
    assert (code, err, [row.split(": ")[1] for row in rows]) == (0, "", ["relu", "pool"])
    assert all(20 < float(row.split(": ")[2].removesuffix(" dB")) < 60 for row in rows)
    told = json.loads(run(capsys, *COMPILE, "--json", "--validate", "calibration.npz")[1])["signal_to_noise"]
    assert [f"signal to noise: {row['layer']}: {row['decibels']:.1f} dB" for row in told] == rows
    assert run(capsys, "report", "model.elf", "-o", "report")[0] == 0
    page = Path("report/report.html").read_text()
    assert "signal to noise, dB" in page
    bars = re.findall(r'<rect [^>]*class="noise"[^>]*><title>([^<]*)</title>', page)
    assert [bar.split(": ")[1] for bar in bars] == [f"{row['decibels']:.1f} dB" for row in told]
    assert all(f"<td>{row['decibels']:.1f}</td>" in page for row in told)


def test_the_quantised_model_gives_the_same_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ("--input-type", "uint8", "--scheme", "free", "--calibration-method", "entropy")
    assert run(capsys, *COMPILE, *how, "--save-onnx", "quantised.onnx")[0] == 0
    first = load_program(Path("model.elf"))
    assert run(capsys, "compile", "quantised.onnx", "--config", "nano", "-o", "again.elf")[0] == 0
    again = load_program(Path("again.elf"))
    assert (again.words, again.const, again.inputs, again.outputs) == (first.words, first.const, first.inputs, first.outputs)
    answer = run_onnx(Path("quantised.onnx").read_bytes(), {"image": np.zeros((1, 3, 6, 6), np.uint8)})["answer"]
    assert answer.shape == (1, 5, 3, 3)
    assert run(capsys, "check", "quantised.onnx", "--config", "nano")[1].endswith("answer: equal\n")


@pytest.mark.parametrize("option", ["--csv", "--save-onnx", "--save-schedule", "--arena"])
def test_two_outputs_of_one_name_are_refused(option: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(folder.iterdir())
    told = "tilewright: x.elf cannot be written: it is asked for twice; give each output file a name of its own\n"
    assert run(capsys, "compile", "model.onnx", "-o", "./x.elf", option, "x.elf") == (2, "", told)
    assert sorted(folder.iterdir()) == before


def test_layers_kept_in_float(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By a name of the float model; of a quantised one they stay on the CPU as they are."""
    facts = json.loads(run(capsys, *COMPILE, "--json", "--keep-float", "con?")[1])
    assert (facts["macs_on_machine"], facts["macs_on_cpu"]) == (0, facts["macs"])
    assert run(capsys, *CHECK, "--keep-float", "con?")[1].endswith("answer: equal\n")
    assert run(capsys, *COMPILE, "--save-onnx", "quantised.onnx")[0] == 0
    out = run(capsys, "compile", "quantised.onnx", "--config", "nano", "-o", "m.elf", "--keep-float", "pool", "-v")[1]
    assert "node on the CPU: pool: kept on the CPU as asked" in out
    assert run(capsys, *COMPILE, "--keep-float", "fc")[2].startswith("tilewright: keep in float: no node is called 'fc'")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--calibration-method", "best"), "calibration method 'best': unknown; choose one of measured, minmax, mse"),
        (("--input-mean", "1,x"), "'1,x': expected one number, or one for each channel"),
        (("--input-scale", "0"), "finite numbers are expected, and no scale of 0"),
    ],
)
def test_choices_are_checked_first(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    code, _, err = run(capsys, "compile", "nothing.onnx", "-o", "m.elf", *words)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"labels": [0, 0, 0]}, "3 labels for 1 of image; expected one label for each input"),
    ],
)
def test_data_to_validate_with_is_checked(
    folder: Path, capsys: pytest.CaptureFixture[str], wrong: dict[str, list[int]], message: str
) -> None:
    np.savez("labelled.npz", allow_pickle=False, image=images(1), **wrong)
    assert run(capsys, *COMPILE, "--validate", "labelled.npz") == (2, "", f"tilewright: validation: {message}\n")
    assert not Path("model.elf").exists()


def test_run_gives_what_onnxruntime_gives(compiled: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elf = str(compiled / "model.elf")
    assert run(capsys, "run", elf, "--input", "image.npz", "-o", "mine.npz")[:2] == (0, "answer: float32[1, 5, 3, 3]\n")
    assert run(capsys, "run", elf, "--input", "image.npz", "-o", "theirs.npz", "--engine", "cpu")[0] == 0
    with np.load("mine.npz") as mine, np.load("theirs.npz") as theirs:
        assert mine.files == theirs.files == ["answer"]
        assert np.array_equal(mine["answer"], theirs["answer"])
        assert np.allclose(mine["answer"].sum(axis=1), 1, atol=1e-5)


def test_check_compares_outputs_or_every_tensor(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *CHECK)[:2] == (0, "oracle: onnxruntime's integer kernels\nanswer: equal\n")
    code, out, _ = run(capsys, *CHECK, "--per-layer", "--input", "image.npz", "--json")
    found = json.loads(out)
    assert (code, found["equal"]) == (0, True)
    assert [row["tensor"] for row in found["tensors"]][-1] == "answer"
    assert {row["elements"] for row in found["tensors"]} >= {5 * 36, 5 * 9}
    assert sorted(os.listdir()) == INPUTS


def test_check_ends_with_1_and_names_the_first_tensor_that_differs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sim.functional.machine.FunctionalMachine.run", lambda *_: None)
    code, out, _ = run(capsys, *CHECK, "--per-layer")  # on a machine that does nothing
    assert code == Exit.CHECK_FAILED
    assert "differ, by at most" in out
    assert "first to differ: " in out.splitlines()[-1]


def test_ops_prints_the_constraints(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "ops")
    assert code == 0
    assert "Conv (ai.onnx, machine)\n" in out
    assert out.splitlines()[-1] == "Every operator that is not listed runs on the CPU, in onnxruntime."
    code, out, _ = run(capsys, "ops", "maxpool", "--json")
    (row,) = json.loads(out)["operators"]
    assert row["operator"] == "MaxPool"
    assert "Only the maxima are asked for, not their places." in row["conditions"]
    assert run(capsys, "ops", "--markdown")[1].startswith("| operator |")
    assert run(capsys, "ops", "argmax") == (0, "ArgMax: CPU, by onnxruntime, because no unit computes it\n", "")
    assert run(capsys, "ops", "Conv", "ArgMax")[1].startswith("ArgMax: CPU, ")
    complaint = "tilewright: operator 'Sofmax': unknown, did you mean 'Softmax'?\n"
    assert run(capsys, "ops", "Sofmax") == (2, "", complaint)
    assert run(capsys, "ops", "--markdown", "Conv")[0] == 2


def test_names_that_are_nearly_right(capsys: pytest.CaptureFixture[str]) -> None:
    said = "tilewright: No such command 'complie', did you mean 'compile'? See tilewright --help\n"
    assert run(capsys, "complie") == (2, "", said)
    assert "did you mean 'list'?" in run(capsys, "config", "lst")[2]
    assert "No such command 'xyzzy'; known are asm, " in run(capsys, "xyzzy")[2]


def test_calibration_from_files_and_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same numbers give the same program, whatever holds them."""
    np.save("pixels.npy", np.load("calibration.npz")["image"])
    assert run(capsys, *COMPILE, "--strategy", "naive")[0] == 0
    first = Path("model.elf").read_bytes()
    how = ("compile", "model.onnx", "--config", "nano", "--strategy", "naive", "-o", "model.elf")
    assert run(capsys, *how, "--calibrate", "pixels.npy")[0] == 0
    assert Path("model.elf").read_bytes() == first
    pictures(Path("images"), (6, 6), (9, 12))
    assert run(capsys, *how, "--calibrate", "images", "--mean", "0.5,0.5,0.5", "--std", "0.25", "--size", "6x6")[0] == 0


@pytest.mark.parametrize("words", [COMPILE[:-1], ("run", "ELF", "--input", "image.npz", "-o"), ("trace", "ELF", "-o")])
def test_an_output_that_cannot_be_written_is_refused_before_any_work(
    words: tuple[str, ...], compiled: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def worked(*_: object, **__: object) -> None:
        pytest.fail("work was done")

    for name in ("tilewright.measure.timing_of", "tilewright.compiling.compile_model", "tilewright.running.run_program"):
        monkeypatch.setattr(name, worked)
    given = [str(compiled / "model.elf") if word == "ELF" else word for word in words]
    assert run(capsys, *given, ".") == (2, "", "tilewright: . cannot be written: it is a folder\n")
    complaint = "tilewright: image.npz/deep/x cannot be written: image.npz is not a folder\n"
    assert run(capsys, *given, "image.npz/deep/x") == (2, "", complaint)


BAD = {
    "no model": (["compile", "none.onnx", "-o", "x.elf"], "none.onnx"),
    "a folder": (["compile", ".", "-o", "x.elf"], "."),
    "no ONNX": (["compile", "text.onnx", "-o", "x.elf"], "text.onnx"),
    "truncated": (["compile", "short.onnx", "-o", "x.elf"], "short.onnx"),
    "unknown operator": (["compile", "odd.onnx", "-o", "x.elf"], "node odd: operator Frobnicate is unknown"),
    "no output": (["compile", "model.onnx"], "Missing option '-o'"),
    "no calibration": ([*COMPILE[:-3], "none.npz", "-o", "x.elf"], "none.npz: No such file or directory"),
    "calibration that is text": ([*COMPILE[:-3], "text.onnx", "-o", "x.elf"], "text.onnx: not an NPZ file"),
    "calibration of another name": ([*COMPILE[:-3], "other.npz", "-o", "x.elf"], "image"),
    "strategy": ([*COMPILE, "--strategy", "clever"], "strategy 'clever'"),
    "objective": ([*COMPILE, "--objective", "beauty"], "objective 'beauty'"),
    "memory": ([*COMPILE, "--memory", "lots"], "memory 'lots': expected at least one byte"),
    "too little memory": ([*COMPILE, "--memory", "100"], "memory 100: the least DRAM found for the feature maps is"),
    "too little for these groups": ([*COMPILE, "--strategy", "naive", "--memory", "100"], "memory 100: the least DRAM found"),
    "memory and a strategy": ([*COMPILE, "--objective", "memory", "--strategy", "naive"], "expected strategy best"),
    "processor": ([*COMPILE, "--cpu", "cortex-a54"], "processor 'cortex-a54': unknown, did you mean 'cortex-a53'"),
    "mean without images": ([*COMPILE, "--mean", "0.5"], "--mean: is for a folder of images"),
    "no image": ([*COMPILE[:-3], "empty", "-o", "x.elf"], "images empty: no image in it"),
    "size": ([*COMPILE, "--size", "6x"], "'6x': expected one number, or height and width"),
    "scheme": ([*COMPILE, "--scheme", "loose"], "'loose'"),
    "batch": ([*COMPILE, "--batch", "0"], "Invalid value for '--batch'"),
    "batch beyond all memory": ([*COMPILE, "--batch", "1" + 30 * "0"], "Invalid value for '--batch'"),
    "groups and a strategy": ([*COMPILE, "--groups", "own.json", "--strategy", "dnnvm"], "strategy 'dnnvm' has none to choose"),
    "groups and least memory": ([*COMPILE, "--groups", "own.json", "--objective", "memory"], "'memory' chooses groups"),
    "groups that are no JSON": ([*COMPILE, "--groups", "text.onnx"], "text.onnx: not JSON"),
    "groups of another shape": ([*COMPILE, "--groups", "flat.json"], "flat.json: expected a list of lists"),
    "groups of nobody": ([*COMPILE, "--groups", "nobody.json"], "groups: no operation 'nobody'"),
    "output that is a folder": ([*COMPILE[:-1], "."], ". cannot be written"),
    "output below a file": ([*COMPILE[:-1], "model.onnx/x.elf"], "model.onnx/x.elf cannot be written: model.onnx is not"),
    "run of no program": (["run", "model.onnx", "--input", "image.npz", "-o", "x.npz"], "not an ELF file"),
    "run on no input": (["run", "ELF", "--input", "none.npz", "-o", "x.npz"], "none.npz: No such file"),
    "run on a bare array": (["run", "ELF", "--input", "bare.npy", "-o", "x.npz"], "bare.npy: one bare array"),
    "run on another name": (["run", "ELF", "--input", "other.npz", "-o", "x.npz"], "input 'picture'"),
    "run on another shape": (["run", "ELF", "--input", "wide.npz", "-o", "x.npz"], "shape [1, 3, 7, 7], expected [1, 3, 6, 6]"),
    "run on another type": (["run", "ELF", "--input", "double.npz", "-o", "x.npz"], "type float64, expected float32"),
    "run into a folder": (["run", "ELF", "--input", "image.npz", "-o", "."], ". cannot be written"),
    "run on no engine": (["run", "ELF", "--input", "image.npz", "-o", "x.npz", "--engine", "abacus"], "Invalid value"),
    "check of no model": (["check", "none.onnx"], "none.onnx"),
    "check on another name": ([*CHECK, "--input", "other.npz"], "input 'picture'"),
    "trace of no program": (["trace", "model.onnx", "-o", "x.json"], "not an ELF file"),
    "report of no program": (["report", "none.elf", "-o", "x"], "none.elf' cannot be read"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_line_exit_code_2_and_leaves_no_file(
    case: str, compiled: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, complaint = BAD[case]
    Path("text.onnx").write_text("no model")
    Path("short.onnx").write_bytes(float_model().SerializeToString()[:200])
    Path("odd.onnx").write_bytes(odd_model().SerializeToString())
    Path("flat.json").write_text('["conv"]')
    Path("own.json").write_text('[["conv"]]')
    Path("nobody.json").write_text('[["nobody"]]')
    np.save("bare.npy", images(1))
    np.savez("other.npz", picture=images(1))
    np.savez("wide.npz", image=np.zeros((1, 3, 7, 7), np.float32))
    np.savez("double.npz", image=images(1).astype(np.float64))
    Path("empty").mkdir()
    before = sorted(os.listdir())
    code, out, err = run(capsys, *(str(compiled / "model.elf") if word == "ELF" else word for word in arguments))
    assert (code, out) == (Exit.BAD_INPUT, "")
    assert complaint in err
    assert err.startswith("tilewright")
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("command", ["compile", "check", "explain", "table"])
def test_each_command_that_reads_a_model_has_a_budget_of_nodes(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ("-o", "new.elf") if command == "compile" else ()
    code, out, err = run(capsys, command, "model.onnx", "--config", "nano", "--nodes", "2", *output)
    assert (code, out) == (Exit.BAD_INPUT, "")
    assert re.fullmatch(r"tilewright: model \w+: \d+ nodes, at most 2 are expected; --nodes allows more, .*\n", err)
    assert not Path("new.elf").exists()


@pytest.mark.parametrize("command", ["compile", "check", "explain", "table", "run", "report", "trace"])
def test_each_command_that_works_on_a_model_or_a_program_has_a_budget_of_time(
    command: str, compiled: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = str(compiled / "model.elf")
    words = {
        "compile": (*COMPILE[1:-1], "new"), "explain": CHECK[1:], "check": CHECK[1:], "table": CHECK[1:],
        "run": (program, "--input", "image.npz", "-o", "new"),
        **dict.fromkeys(("report", "trace"), (program, "-o", "new")),
    }  # fmt: skip
    code, out, err = run(capsys, command, *words[command], "--seconds", "0.001")
    assert (code, out) == (Exit.BAD_INPUT, "")
    less = {"compile": ", or less to do: --effort quick, --strategy naive", "check": ", or less to do: --strategy naive"}
    less["explain"] = less["compile"]
    assert err == f"tilewright: {command}: not done within 0.001 seconds (--seconds); give more{less.get(command, '')}\n"
    assert not Path("new").exists()
