"""Values that nobody means, in files that are read: each an error of ours, in time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from compiler.frontend.reader import read
from compiler.schedule.reading import parse_schedule
from isa.config import load_config, preset
from isa.errors import TilewrightError
from isa.host_table import host_table
from isa.program import HostTensor, Program
from sim.runtime.run import check_inputs
from tests.compiler.frontend.quantised_models import model, node, weights
from tilewright.compiling import read_groups

DEEP = "[" * 100_000
LONG = "9" * 5_000


@pytest.mark.parametrize("text", [f"x = {DEEP}", f"ic_p = {LONG}", f"base = 'nano'\nic_p = 0x{LONG}", f"base = 0x{LONG}"])
def test_toml(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(TilewrightError):
        load_config(str(tmp_path / "mine.toml"))
    with pytest.raises(TilewrightError):
        parse_schedule(text)


@pytest.mark.parametrize("text", [DEEP, LONG, f"[[{LONG}]]"])
def test_json(text: str, tmp_path: Path) -> None:
    (tmp_path / "groups.json").write_text(text)
    with pytest.raises(TilewrightError):
        read_groups(tmp_path / "groups.json")


@pytest.mark.parametrize(("key", "value"), [("offset", "-4"), ("offset", "abc"), ("length", LONG), ("location", "a\0b")])
def test_external_data(key: str, value: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    proto = model([node("Conv", "x w")], (1, 3, 6, 6), {"w": weights(4, 3, 1, 1)})
    onnx.save(proto, path, save_as_external_data=True, size_threshold=0, location="w.bin")
    proto = onnx.load(path, load_external_data=False)
    entries = {entry.key: entry for entry in proto.graph.initializer[0].external_data}
    if key not in entries:
        entries[key] = proto.graph.initializer[0].external_data.add(key=key)
    entries[key].value = value
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(TilewrightError, match="tensor w: "):
        read(path)


@pytest.mark.parametrize("tensor", [HostTensor("x", (0, 1 << 31), "int64"), HostTensor("x", (1, 1 << 31), "float32")])
def test_a_table_for_drivers_has_words_of_32_bits(tensor: HostTensor) -> None:
    with pytest.raises(TilewrightError, match="does not fit into its 32 bits"):
        host_table(Program(preset("nano"), (), inputs=(tensor,)))


def test_names_that_are_no_text() -> None:
    with pytest.raises(TilewrightError, match="input 3: the network has none of that name"):
        check_inputs((HostTensor("x", (1,), "int8"),), {"x": np.zeros(1, np.int8), 3: np.zeros(1), None: np.zeros(1)})  # type: ignore[dict-item]
