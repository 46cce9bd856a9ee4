"""The summary: products here and there, first causes, times of the host, tables for scripts."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.driver import Compiled
from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import ALWAYS, CONSTRAINTS, refusal
from compiler.frontend.importer import run
from isa.config import preset
from isa.errors import TilewrightError
from tests.tilewright.small_models import chain_model, images, write_small_files
from tilewright.causes import causes, ms_of_nodes
from tilewright.cli import main
from tilewright.compiling import compile_model
from tilewright.host_speed import HostSpeed, host_speed, measured
from tilewright.processors import PROCESSORS, Processor, processor_of
from tilewright.profile.macs import macs_of
from tilewright.profile.shapes import Shapes
from tilewright.run_table import as_csv, layer_table, run_table
from tilewright.summary import array_macs, details, summary
from tilewright.why import SAYS, why

SPEED = HostSpeed(1e9, 1e8, 1e-6, 1e-5, 1e7)
MINE = Processor("mine", "made up", True, lambda: SPEED, "by hand", 1)


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
    told = summary(compiled, MINE)
    assert (told.macs_on_machine, told.macs_on_cpu, told.macs) == (36 * 12, 36 * 20, 36 * 32)
    assert told.machine_segments == 1
    assert told.nodes_on_cpu == len(compiled.imported.reasons)


def test_the_whole_run_adds_up_by_hand(compiled: Compiled) -> None:
    """Quantise, machine, then dequantise, softmax, convolution: each node's float operands and results; what is copied."""
    told = summary(compiled, MINE).time
    assert [span.kind for span in told.spans] == ["cpu", "transfer", "machine", "transfer", "cpu"]
    first, to_machine, machine, to_host, last = told.spans
    image, a, answer = 108, 144, 180
    of_scale = 2 * 4  # scale and zero-point
    assert first.ms == pytest.approx(1000 * (1e-5 + 1e-6 + 4 * (2 * image + of_scale / 4) / 1e8))
    moved = 4 * (2 * a + of_scale / 4 + 2 * a + a + answer + 20)
    assert last.ms == pytest.approx(1000 * (1e-5 + 3e-6 + 36 * 20 / 1e9 + moved / 1e8))
    assert (to_machine.bytes + to_host.bytes) == sum(buffer.nbytes for buffer in compiled.program.buffers)
    assert to_machine.ms == pytest.approx(1000 * to_machine.bytes / 1e7)
    assert machine.ms == pytest.approx(told.cycles / 60_000)
    starts = [span.start_ms for span in told.spans]
    assert starts == pytest.approx(np.cumsum([0.0, *(span.ms or 0.0 for span in told.spans[:-1])]).tolist())
    assert told.ms == pytest.approx(sum(span.ms or 0.0 for span in told.spans))
    assert told.inferences_per_second == pytest.approx(1000 / (told.ms or 1.0))


def test_a_processor_without_onnxruntime_quantises_and_no_more(compiled: Compiled) -> None:
    """Of ``nano`` that is the processor beside it; what follows such a part has no time either."""
    told = summary(compiled)
    assert told.processor.startswith("vexriscv: ")
    assert [span.ms is None for span in told.time.spans] == [False, False, False, False, True]
    assert (told.ms, told.ms_on_cpu, told.inferences_per_second) == (None, None, None)
    assert "Softmax, Conv) cannot run on vexriscv" in told.no_time
    (odd,) = (str(cause) for cause in told.causes if cause.operator == "Softmax")
    assert "Costs a transfer, with " in odd
    assert "of it. The processor cannot run it. What helps: " in odd
    assert f"end to end               no time: {told.no_time}" in str(told)
    assert all(summary(compiled, PROCESSORS[name]).ms is None for name in ("cortex-m7", "vexriscv"))


def test_processors_have_sources_and_errors_and_are_found_by_chip() -> None:
    assert all(each.source and each.error >= 1 for each in PROCESSORS.values())
    beside = [processor_of(None, preset(name)).name for name in ("nano", "base", "zu2", "zu9")]
    assert beside == ["vexriscv", "cortex-a53", "cortex-a53", "cortex-a53"]
    assert processor_of(None, replace(preset("nano"), chip="")).name == "this"
    a53, a72 = (PROCESSORS[name].speed() for name in ("cortex-a53", "cortex-a72"))
    assert all(a <= b for a, b in zip(astuple(a53)[:2], astuple(a72)[:2], strict=True))
    with pytest.raises(TilewrightError, match="did you mean 'cortex-a"):
        processor_of("cortex-a35", preset("nano"))


def test_a_cause_says_what_is_so_what_it_costs_and_what_helps(compiled: Compiled) -> None:
    found = {row.nodes[0]: row for row in causes(compiled, MINE)}
    assert str(found["odd"]).startswith("Softmax odd: no unit computes it. Costs 0.0")
    assert " ms and a transfer, with 1 more node because of it. What" in str(found["odd"])
    assert "What helps: " in str(found["odd"])
    assert any(name.endswith("DequantizeLinear") for name in found["odd"].nodes)
    assert sum(len(row.nodes) for row in found.values()) == len(compiled.imported.reasons)
    assert sum(row.macs for row in found.values()) == 36 * 20
    assert causes(compiled, MINE)[0].macs == max(row.macs for row in found.values())
    assert found["odd"].ms == pytest.approx(sum(of_node(compiled, name) for name in found["odd"].nodes))


def of_node(compiled: Compiled, name: str) -> float:
    return ms_of_nodes(compiled.program, [name], MINE) or 0.0


def test_every_condition_has_its_contrary_in_words() -> None:
    assert run.FAMILIES
    asked = {each.__name__ for each in (*ALWAYS, *(each for found in CONSTRAINTS.values() for each in found))}
    assert set(SAYS) == asked
    assert why(refusal(general.eight_bits)) == SAYS["eight_bits"]
    assert why("no unit of the machine computes Erf").so == "no unit computes it"


def test_tables_have_every_layer_and_every_node(compiled: Compiled) -> None:
    time = summary(compiled, MINE).time
    table = list(csv.DictReader(io.StringIO(as_csv(run_table(compiled, time)))))
    parts, rows = ([row for row in table if bool(row["layer"]) is inner] for inner in (False, True))
    assert [row["where"] for row in parts] == ["CPU", "transfer", "machine", "transfer", "CPU"], "in the order of the run"
    assert sum(float(row["ms"]) for row in parts) == pytest.approx(time.ms, abs=1e-5)
    last = ""
    for row in table:
        last = last if row["layer"] else row["part"]
        assert row["part"] == last, "behind its part"
    assert [row["part"] for row in table if row["where"] == "CONV"] == ["machine 1"]
    assert [row["layer"] for row in rows if row["where"] != "CPU"] == [
        layer.op.name for plan in compiled.plans for layer in plan.group.layers
    ]
    on_cpu = {row["layer"]: row["reason"] for row in rows if row["where"] == "CPU"}
    assert on_cpu == {name: str(why(reason)) for name, reason in compiled.imported.reasons.items()}
    assert sum(int(row["macs"]) for row in rows) == 36 * 32
    told = details(compiled, time)
    assert json.loads(json.dumps(told)) == told
    machine = [row["layer"] for row in rows if row["where"] != "CPU"]
    assert [op for plan in told["plans"] for op in plan["operations"]] == machine


def test_the_command_writes_them(compiled: Compiled, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elf, table, model = (str(tmp_path / name) for name in ("m.elf", "layers.csv", "q.onnx"))
    Path(model).write_bytes(compiled.imported.oracle.SerializeToString())
    assert main(["compile", model, "--config", "nano", "-o", elf, "--csv", table, "--json", "-v", "--cpu", "cortex-a72"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["format"] == 1
    time = summary(compiled, PROCESSORS["cortex-a72"]).time
    told_of, expected = ([{**row, "reason": None} for row in rows] for rows in (told["layers"], layer_table(compiled, time)))
    assert told_of == expected, "but for the layer that is in float here as asked, there because it came so"
    assert told["processor"].startswith("cortex-a72")
    listed = list(csv.DictReader(io.StringIO(Path(table).read_text())))
    assert [row["layer"] for row in listed if row["layer"]] == [row["layer"] for row in in_order(told)]
    assert sum(float(row["ms"] or 0) for row in listed) == pytest.approx(told["ms"], abs=1e-5)
    assert told.keys() >= {"configuration", "chip", "clock_mhz"} | summary(compiled, MINE).as_dict().keys()
    assert [key for key in keys(told) if not re.fullmatch(r"[a-z][a-z0-9_]*", key)] == []


def in_order(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Layers and nodes by the parts of the run."""
    parts = [span["name"] for span in told["spans"]]
    return sorted(told["layers"], key=lambda row: parts.index(row["part"]))


def keys(value: object) -> Iterator[str]:
    """Of all objects within."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(inner)


def test_products_of_two_activations_count() -> None:
    """As MatMul, Einsum and Attention."""
    x = (2, 3, 4, 8)
    nodes = {
        "matmul": (helper.make_node("MatMul", ["a", "bt"], ["y"], "n"), 2 * 3 * 4 * 5 * 8),
        "blocks of four bits": (helper.make_node("MatMulNBits", ["a", "packed"], ["y"], "n", K=8, N=5), 2 * 3 * 4 * 5 * 8),
        "einsum": (helper.make_node("Einsum", ["a", "b"], ["y"], "n", equation="bhqd,bhkd->bhqk"), 2 * 3 * 4 * 5 * 8),
        "attention": (helper.make_node("Attention", ["a", "b", "b"], ["y"], "n"), 2 * 3 * 4 * 5 * 16),
    }
    shapes: Shapes = {"a": x, "b": (2, 3, 5, 8), "bt": (2, 3, 8, 5), "packed": (5, 1, 4), "y": (2, 3, 4, 5)}
    assert all(macs_of(node, shapes) == macs for node, macs in nodes.values())
    joined = helper.make_node("Attention", ["a", "b", "b"], ["y"], "n", q_num_heads=3, kv_num_heads=3)
    assert macs_of(joined, {"a": (2, 4, 24), "b": (2, 5, 24)}) == 2 * 3 * 4 * 5 * 16


PIECES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], int]] = {
    "ConvTranspose": ((1, 3, 6, 6), (3, 4, 2, 2), {"strides": [2, 2]}, 4),
    "Conv": ((1, 64, 20, 24), (8, 64, 3, 3), {"dilations": [8, 8], "pads": [8, 8, 8, 8]}, 8),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op_type", PIECES)
def test_products_of_a_node_in_pieces_are_shared_among_its_layers(op_type: str) -> None:
    """Phases of a transposed convolution; classes of rows of one that is dilated further than there is room on chip."""
    shape, of_weights, how, pieces = PIECES[op_type]
    weights = np.random.default_rng(0).normal(0, 0.3, of_weights).astype(np.float32)
    nodes = [helper.make_node(op_type, ["image", "w"], ["a"], "whole", **how), helper.make_node("Relu", ["a"], ["answer"])]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("answer", TensorProto.FLOAT, None)], [numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    made = compile_model(proto, "nano", cache=False)
    told = summary(made, MINE)
    wanted = shape[2] * shape[3] * weights.size
    assert (told.macs, told.macs_on_machine, array_macs(made)) == (wanted, wanted, wanted)
    found = [row["macs"] for row in layer_table(made, told.time) if row["macs"]]
    assert (len(found), sum(found)) == (pieces, wanted)
    assert max(found) < 3 * min(found)


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
    assert told["left_out_by_caps"] == {"others": 0, "longer": 2, "most_ops": 10, "begun": 0}


def capsys_json(capsys: pytest.CaptureFixture[str], *how: str) -> str:
    main(["compile", "model.onnx", "--config", "nano", "--calibrate", "calibration.npz", "-o", "x.elf", "--json", *how])
    return capsys.readouterr().out
