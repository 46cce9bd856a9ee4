"""What is compiled has the same bytes in every process: whatever the hash seed, the number of cores, the folder, the cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from compiler.zoo.random_models import build, random_recipe
from tests.fresh_process import answers, that_differ
from tests.tilewright.small_models import write_small_files
from tilewright.cli import main

MODEL = ("model.onnx", "--calibrate", "calibration.npz", "--config", "nano")
DRAWN = 37
"""A random model of convolutions and activations, two images at once."""


def of_every_command() -> dict[str, str]:
    """A float model with a part on the CPU, then as a quantised one of which nodes are kept there."""
    write_small_files(Path())
    every = ["--save-schedule", "a.toml", "--csv", "a.csv", "--dump", "a", "--arena", "a.svg", "--save-onnx", "q.onnx"]
    _run("compile", *MODEL, "-o", "a.elf", *every)
    _run("compile", "q.onnx", "--config", "nano", "--keep-float", "*", "-o", "kept.elf", "--csv", "kept.csv")
    _run("report", "a.elf", "-o", "report")
    _run("trace", "a.elf", "-o", "trace.json")
    _run("pack", "a.elf", "-o", "a.bin")
    return _digests()


def of_every_search(seed: int, config: str) -> dict[str, str]:
    Path("m.onnx").write_bytes(build(random_recipe(seed)).SerializeToString())
    for number, options in enumerate((
        ["--effort", "quick"], ["--effort", "normal"], ["--effort", "full"], ["--objective", "dram"], ["--objective", "memory"],
    )):  # fmt: skip
        files = ["-o", f"{number}.elf", "--save-schedule", f"{number}.toml", "--csv", f"{number}.csv"]
        _run("compile", "m.onnx", "--config", config, *options, *files)
    return _digests()


def _run(*arguments: str) -> None:
    assert main(arguments) == 0


def _digests() -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in Path().rglob("*") if path.is_file()}


def test_of_every_command(tmp_path: Path) -> None:
    found = answers(of_every_command, (), tmp_path)
    assert {"a.elf", "a.toml", "a.csv", "a.svg", "a.bin", "trace.json", "report/report.html"} <= found[0].keys()
    assert that_differ(found) == []


def test_of_every_search(tmp_path: Path) -> None:
    assert that_differ(answers(of_every_search, (DRAWN, "nano"), tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("config", ["base", "zu2", "zu9"])
@pytest.mark.parametrize("seed", [10, 17, 44])
def test_of_every_search_for_larger_machines(seed: int, config: str, tmp_path: Path) -> None:
    assert that_differ(answers(of_every_search, (seed, config), tmp_path)) == []
