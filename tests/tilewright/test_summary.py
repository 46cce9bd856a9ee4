"""The summary: products here and there, first causes, times of the host, tables for scripts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.driver import Compiled
from tests.tilewright.small_models import chain_model, images, write_small_files
from tilewright.api import compile_model
from tilewright.cli import main
from tilewright.host_speed import HostSpeed, host_speed, measured
from tilewright.summary import as_csv, causes, details, facts, host_seconds, layer_table

SPEED = HostSpeed(1e9, 1e8, 1e-6, 1e-5, 1e7)


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    """A convolution on the machine, Softmax, and a convolution that is kept in float."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(0, 0.3, (4, 3, 1, 1)), "v": rng.normal(0, 0.3, (5, 4, 1, 1))}
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["a"], "first"),
        helper.make_node("Softmax", ["a"], ["b"], "odd", axis=1),
        helper.make_node("Conv", ["b", "v"], ["answer"], "second"),
    ]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 3, 6, 6))],
        [helper.make_tensor_value_info("answer", TensorProto.FLOAT, (1, 5, 6, 6))],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return compile_model(proto, "nano", calibration={"image": images(4)}, keep_float=["second"], cache=False)


def test_products_are_the_models_and_where_they_are(compiled: Compiled) -> None:
    told = facts(compiled, SPEED)
    assert (told["MACs on machine"], told["MACs on CPU"], told["MACs"]) == (36 * 12, 36 * 20, 36 * 32)
    assert told["machine segments"] == 1
    assert told["nodes on CPU"] == len(compiled.imported.reasons)


def test_times_of_the_host_add_up_by_hand(compiled: Compiled) -> None:
    """Quantise, dequantise, softmax, convolution: two parts; each node's float operands and results."""
    computing, copying = host_seconds(compiled, SPEED)
    image, a, answer = 108, 144, 180
    of_scale = 2 * 4  # scale and zero-point
    moved = 4 * (2 * image + 2 * a + 2 * a + a + answer + 20) + 2 * of_scale
    nodes = len(compiled.imported.reasons)
    assert nodes == 4
    assert computing == pytest.approx(2 * 1e-5 + nodes * 1e-6 + 36 * 20 / 1e9 + moved / 1e8)
    assert copying == pytest.approx(sum(buffer.nbytes for buffer in compiled.program.buffers) / 1e7)
    told = facts(compiled, SPEED)
    whole = told["estimated ms"] + told["estimated ms on CPU"] + told["estimated ms of copies"]
    assert told["estimated ms in all"] == pytest.approx(whole, abs=2e-3)


def test_a_node_that_is_there_because_of_another_counts_as_its(compiled: Compiled) -> None:
    found = {row.nodes[0]: row for row in causes(compiled)}
    assert found["odd"].reason == "no unit of the machine computes Softmax"
    assert any(name.endswith("DequantizeLinear") for name in found["odd"].nodes)
    assert sum(len(row.nodes) for row in found.values()) == len(compiled.imported.reasons)
    assert sum(row.macs for row in found.values()) == 36 * 20
    assert causes(compiled)[0].macs == max(row.macs for row in found.values())


def test_tables_have_every_layer_and_every_node(compiled: Compiled) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(layer_table(compiled)))))
    assert [row["layer"] for row in rows if row["where"] != "CPU"] == [
        layer.op.name for plan in compiled.plans for layer in plan.group.layers
    ]
    assert {row["layer"]: row["reason"] for row in rows if row["where"] == "CPU"} == compiled.imported.reasons
    assert sum(int(row["MACs"]) for row in rows) == 36 * 32
    told = details(compiled)
    assert json.loads(json.dumps(told)) == told
    machine = [row["layer"] for row in rows if row["where"] != "CPU"]
    assert [op for plan in told["plans"] for op in plan["operations"]] == machine


def test_the_command_writes_them(compiled: Compiled, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elf, table, model = (str(tmp_path / name) for name in ("m.elf", "layers.csv", "q.onnx"))
    Path(model).write_bytes(compiled.imported.oracle.SerializeToString())
    assert main(["compile", model, "--config", "nano", "-o", elf, "--csv", table, "--json", "-v"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["layers"] == layer_table(compiled)
    assert {row["reason"] for row in told["causes"]} <= set(told["on the CPU"].values())
    assert Path(table).read_text() == as_csv(told["layers"])


def test_speed_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[HostSpeed] = []

    def count() -> HostSpeed:
        counted.append(SPEED)
        return SPEED

    monkeypatch.setattr("tilewright.host_speed.measured", count)
    for _ in range(2):
        host_speed.cache_clear()
        assert host_speed(tmp_path) == SPEED
    assert len(counted) == 1
    (file,) = tmp_path.iterdir()
    for damaged in ("", "{}", '{"macs_per_second": -1.0}', "[1]", file.read_text().replace("1e-06", '"x"')):
        file.write_text(damaged)
        host_speed.cache_clear()
        assert host_speed(tmp_path) == SPEED
    assert len(counted) == 6
    host_speed.cache_clear()
    assert host_speed(file / "no folder") == SPEED
    host_speed.cache_clear()


def test_what_is_measured_is_plausible() -> None:
    found = measured()
    assert 1e7 < found.macs_per_second < 1e14
    assert 1e6 < found.bytes_per_second < 1e13
    assert 0 < found.seconds_per_node < 1e-2
    assert 0 < found.seconds_per_part < 1e-1
    assert 1e6 < found.copied_bytes_per_second < 1e12


def test_what_caps_left_out_is_said_with_what_looks_at_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of twelve operations in a row two stretches of eleven."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_small_files(tmp_path)
    Path("model.onnx").write_bytes(chain_model(12).SerializeToString())

    def said(*how: str) -> list[str]:
        code = main(["compile", "model.onnx", "--config", "nano", "--calibrate", "calibration.npz", "-o", "x.elf", *how])
        assert code == 0
        return [line for line in capsys.readouterr().out.splitlines() if "left out by caps" in line]

    left = "groups left out by caps  2 (2 of more than 10 operations)"
    assert said("--objective", "dram") == [f"{left}; --effort full looks at more"]
    assert said("--objective", "dram", "--effort", "full") == []
    assert said("--strategy", "optimus") == [left]
    assert said("--strategy", "naive") == []
    told = json.loads(capsys_json(capsys, "--strategy", "optimus", "--verbose"))
    assert told["left out by caps"] == {"others": 0, "longer": 2, "most_ops": 10, "begun": 0}


def capsys_json(capsys: pytest.CaptureFixture[str], *how: str) -> str:
    main(["compile", "model.onnx", "--config", "nano", "--calibrate", "calibration.npz", "-o", "x.elf", "--json", *how])
    return capsys.readouterr().out
