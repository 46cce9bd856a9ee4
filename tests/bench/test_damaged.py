"""Damaged files: some of each kind (``python -m bench.damaged`` makes more), and each command on files that are whole."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import onnx
import pytest

from bench.damaged import COMMANDS, FILES, damaged, good, run_damaged
from sim.campaign.run import How
from sim.campaign.work import Lost
from tilewright.cli import main

PATIENCE = 120.0
"""Seconds for one file: a hang is one on a busy machine, too."""


@pytest.mark.parametrize("count", [15, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", COMMANDS)
def test_damage_is_refused_in_one_line_and_leaves_nothing(kind: str, count: int, tmp_path: Path) -> None:
    codes, failures = run_damaged(kind, 0, count, How(), tmp_path / "kept", seconds=PATIENCE)
    assert failures == []
    assert codes["2"] > count // 3
    assert sum(codes.values()) == count
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("kind", COMMANDS)
def test_the_commands_take_the_same_files_undamaged(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in good().items():
        Path(name).write_bytes(content)
    Path("bad").with_suffix(Path(FILES[kind]).suffix).write_bytes(good()[FILES[kind]])
    for command in COMMANDS[kind]:
        if kind in ("onnx", "structures"):
            command += ("--calibrate", "image.npz")  # noise would be warned of
        assert main(command) == 0


@pytest.mark.parametrize("kind", COMMANDS)
def test_the_same_seed_is_the_same_damage(kind: str) -> None:
    one, same, other = (damaged(kind, seed, good()) for seed in (3, 3, 4))
    assert one == same != other


def test_a_large_model_may_take_long_and_nothing_else_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of thousands is work; a small model that takes as long hangs, and a killed worker is a fault of either."""
    large = onnx.load_from_string(good()["model.onnx"])
    large.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 32768
    models = [large.SerializeToString(), good()["model.onnx"], large.SerializeToString()]
    ends = [Lost("took more than 10 s", late=True), Lost("took more than 10 s", late=True), Lost("killed")]
    monkeypatch.setattr("bench.damaged.campaign", lambda *_, **__: nullcontext(iter(ends)))
    monkeypatch.setattr("bench.damaged.damaged", lambda kind, number, content: models[number])
    codes, failures = run_damaged("onnx", 0, 3, How(), tmp_path)
    assert codes == {"0": 1, "lost": 2}
    assert len(failures) == 2
