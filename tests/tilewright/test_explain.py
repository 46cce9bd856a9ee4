"""``tilewright explain``: text, JSON and the picture; of a program, and of a model."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.tilewright.small_models import chain_model, write_small_files
from tilewright.cli import main
from tilewright.explain.layout import layout

MODEL = ("model.onnx", "--config", "nano", "--calibrate", "calibration.npz")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_small_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("strategy", ["naive", "dnnvm"])
def test_a_program_has_the_groups_it_was_compiled_with(
    folder: Path, capsys: pytest.CaptureFixture[str], strategy: str
) -> None:
    assert run(capsys, "compile", *MODEL, "--strategy", strategy, "-o", "model.elf")[0] == 0
    code, out, err = run(capsys, "explain", "model.elf", "--json")
    of_program = [group["ops"] for group in json.loads(out)["groups"]]
    assert (code, err) == (0, "")
    of_model = json.loads(run(capsys, "explain", *MODEL, "--strategy", strategy, "--json")[1])["groups"]
    assert of_program == [group["ops"] for group in of_model]


def test_groups_are_printed_with_savings_and_runner_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("groups.json").write_text('[["conv", "pool"]]')
    run(capsys, "compile", *MODEL, "--groups", "groups.json", "-o", "model.elf")
    code, out, _ = run(capsys, "explain", "model.elf", "--objective", "dram")
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "1. conv + pool")
    assert "1 map on chip only; template conv > pool" in lines[2]
    assert lines[3].startswith("   runner-up: conv | pool: ")
    assert lines[4].startswith("1 group: the search's estimate ")
    assert lines[-2].endswith("(dram), these cost 0.0% more")
    told = json.loads(run(capsys, "explain", "model.elf", "--json")[1])
    least, reason = told["least_cycles"], told["least_cycles_for"]
    cycles = told["cycles"]
    assert 0 < least <= cycles
    assert lines[5].startswith(f"the program takes {cycles:,} cycles by the cycle model")
    assert lines[6].startswith("end to end no time: part ")
    assert [line.split(": ")[0].split()[-1] for line in lines[7:-2]] == ["cpu", "transfer", "machine", "transfer", "cpu"]
    assert lines[-1].startswith(f"no program takes fewer than {least:,} cycles, for {reason}: ")
    assert lines[-1].endswith(f" {cycles / least - 1:.1%} more")


def test_a_program_is_explained_as_it_was_compiled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever was left to the CPU, and with the cycles that the compilation told."""
    Path("model.onnx").write_bytes(chain_model(4).SerializeToString())
    code, out, _ = run(capsys, "compile", *MODEL, "--keep-float", "node1", "-o", "model.elf", "--json")
    assert code == 0
    code, told, err = run(capsys, "explain", "model.elf", "--json")
    assert (code, err) == (0, "")
    assert json.loads(told)["cycles"] == json.loads(out)["cycles"]
    assert "node1" not in [op for group in json.loads(told)["groups"] for op in group["ops"]]


def test_a_model_is_explained_for_as_many_images_as_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bytes_of = [
        sum(group["cost"]["dram_bytes"] for group in json.loads(run(capsys, "explain", *MODEL, *how, "--json")[1])["groups"])
        for how in ((), ("--batch", "2"))
    ]  # fmt: skip
    assert bytes_of[0] < bytes_of[1]


def test_full_effort_proves_what_normal_leaves_open(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twelve operations: normal weighs groups of ten, so two of eleven are left, and full weighs the whole."""
    Path("model.onnx").write_bytes(chain_model(12).SerializeToString())
    told = {
        effort: json.loads(run(capsys, "explain", *MODEL, "--objective", "dram", "--effort", effort, "--json")[1])
        for effort in ("quick", "normal", "full")
    }  # fmt: skip
    assert [told[effort]["groups_not_weighed"] for effort in told] == [2, 2, 0]
    value = sum(group["cost"]["dram_bytes"] for group in told["full"]["groups"])
    assert value == told["full"]["bound"] >= told["normal"]["bound"]


def test_effort_counts_for_the_bound_of_a_program_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.onnx").write_bytes(chain_model(12).SerializeToString())
    assert run(capsys, "compile", *MODEL, "--objective", "dram", "--effort", "full", "-o", "model.elf")[0] == 0
    normal = run(capsys, "explain", "model.elf", "--objective", "dram")[1].splitlines()[-2]
    full = run(capsys, "explain", "model.elf", "--objective", "dram", "--effort", "full")[1].splitlines()[-2]
    assert normal.endswith("; 2 more groups were found than weighed")
    assert full.endswith("(dram), these cost 0.0% more")
    code, _, err = run(capsys, "explain", "model.elf", "--effort", "lazy")
    assert (code, err) == (2, "tilewright: effort 'lazy': unknown; known are quick, normal, full\n")


def test_a_schedule_is_that_of_the_effort(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = (*MODEL, "--effort", "full")
    assert run(capsys, "compile", *how, "-o", "a.elf", "--save-schedule", "a.toml")[0] == 0
    assert run(capsys, "explain", *how, "--schedule") == (0, Path("a.toml").read_text(), "")
    assert run(capsys, "explain", *how, "--memory")[0] == 0


def test_the_picture_shows_every_operation_and_group(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "explain", *MODEL, "--strategy", "naive", "-o", "groups.svg")[0] == 0
    svg = ElementTree.parse("groups.svg")
    space = {"s": "http://www.w3.org/2000/svg"}
    assert {text.text for text in svg.findall(".//s:text", space)} == {"conv", "pool"}
    assert len(svg.findall(".//s:path", space)) == 1
    assert len(svg.findall(".//s:rect", space)) == 4


def test_a_file_that_is_neither_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.onnx").write_text("nothing of the kind")
    code, out, err = run(capsys, "explain", "text.onnx")
    assert (code, out) == (2, "")
    assert "text.onnx" in err
    assert run(capsys, "explain", "missing.elf")[2] == "tilewright: missing.elf: No such file or directory\n"


def test_an_assembled_program_cannot_be_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("program.s").write_text("")
    run(capsys, "asm", "program.s", "--config", "nano", "-o", "program.elf")
    assert "holds no model" in run(capsys, "explain", "program.elf")[2]


def test_groups_and_operations_lie_below_what_they_read_and_apart() -> None:
    needs = [[], [0], [0], [1, 2], [3], [3]]
    groups = [[0], [1, 2, 3], [4], [5]]
    place = layout(needs, groups)
    for reader, makers in enumerate(needs):
        assert all(place.ops[reader][1] >= place.ops[maker][1] + place.ops[maker][3] for maker in makers)
    for boxes in (list(place.ops.values()), place.groups):
        assert not any(overlap(a, b) for n, a in enumerate(boxes) for b in boxes[:n])
    for group, members in zip(place.groups, groups, strict=True):
        assert all(inside(place.ops[op], group) for op in members)
    assert all(inside(group, (0, 0, place.width, place.height)) for group in place.groups)


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def inside(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] >= b[0] and a[1] >= b[1] and a[0] + a[2] <= b[0] + b[2] and a[1] + a[3] <= b[1] + b[3]


def test_a_schedule_is_printed_saved_and_compiled_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "compile", *MODEL, "-o", "a.elf", "--save-schedule", "a.toml")[0] == 0
    assert run(capsys, "explain", *MODEL, "--schedule") == (0, Path("a.toml").read_text(), "")
    assert run(capsys, "compile", *MODEL, "-o", "b.elf", "--strategy", "naive", "--schedule", "a.toml")[0] == 0
    assert Path("a.elf").read_bytes() == Path("b.elf").read_bytes()


def test_a_schedule_is_not_told_of_a_program_nor_in_other_forms(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "compile", *MODEL, "--strategy", "naive", "-o", "model.elf")[0] == 0
    code, out, err = run(capsys, "explain", "model.elf", "--schedule")
    assert (code, out) == (2, "")
    assert "give the model that it was compiled from" in err
    assert run(capsys, "explain", *MODEL, "--schedule", "--json")[0] == 2
    code, _, err = run(capsys, "compile", *MODEL, "-o", "c.elf", "--schedule", "none.toml")
    assert (code, err) == (2, "tilewright: none.toml: cannot be read: No such file or directory\n")
