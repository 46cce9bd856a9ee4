"""What is compiled has the same bytes in every process: whatever the hash seed, the number of cores, the folder, the cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from compiler.zoo.random_models import build, random_recipe
from tests.fresh_process import SEEDS, answers, that_differ
from tests.tilewright.small_models import write_small_files
from tilewright.cli import main

DRAWN = 43
"""A random model of branches that are put together, three images at once."""


def of_every_command() -> dict[str, str]:
    """A float model of which a part runs on the CPU, and the same as a quantised one of which every node is kept there."""
    write_small_files(Path())
    every = ("--save-schedule", "a.toml", "--csv", "a.csv", "--dump", "a", "--arena", "a.svg", "--save-onnx", "q.onnx")
    _run("compile", "model.onnx", "--calibrate", "calibration.npz", "--config", "nano", "-o", "a.elf", *every)
    _run("compile", "q.onnx", "--config", "nano", "--keep-float", "*", "-o", "kept.elf", "--csv", "kept.csv")
    _run("report", "a.elf", "-o", "report")
    _run("trace", "a.elf", "-o", "trace.json")
    _run("pack", "a.elf", "-o", "a.bin")
    return of_every_search(DRAWN, "nano")


def of_every_search(seed: int, config: str) -> dict[str, str]:
    """A random model, as it is compiled by default, by all that the compiler knows, and for the least memory."""
    Path("m.onnx").write_bytes(build(random_recipe(seed)).SerializeToString())
    searches: dict[str, tuple[str, ...]] = {
        "normal": (), "full": ("--effort", "full"), "memory": ("--objective", "memory"), "again": (),
    }  # fmt: skip
    for name, options in searches.items():
        files = ("-o", f"{name}.elf", "--save-schedule", f"{name}.toml", "--csv", f"{name}.csv")
        _run("compile", "m.onnx", "--config", config, *options, *files)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in Path().rglob("*") if path.is_file()}


def _run(*arguments: str) -> None:
    assert main(arguments) == 0


def test_of_every_command(tmp_path: Path) -> None:
    found = answers(of_every_command, (), tmp_path, SEEDS[:2])
    expected = {
        "a.elf", "a.toml", "a.csv", "a.svg", "a/instructions.s", "q.onnx", "kept.elf", "kept.csv", "report/report.html",
        "trace.json", "a.bin", "normal.elf", "full.toml", "memory.csv",
    }  # fmt: skip
    assert expected <= found[0].keys()
    assert that_differ(found) == []
    for kind in ("elf", "toml", "csv"):
        assert found[0][f"normal.{kind}"] == found[0][f"again.{kind}"], "what other compilations left in the cache matters"


@pytest.mark.slow
@pytest.mark.parametrize("config", ["base", "zu9"])
def test_of_a_longer_search(config: str, tmp_path: Path) -> None:
    assert that_differ(answers(of_every_search, (37, config), tmp_path)) == []
