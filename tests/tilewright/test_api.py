"""The Python API: what people guess, and what they get for a wrong guess."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tilewright as tw
from isa.config import preset
from tests.tilewright.small_models import INPUT_SHAPE, float_model, images, pictures
from tilewright.calibration import arrays_of
from tilewright.version import VERSION

ONE = {"image": (1, 3, 6, 6)}


@pytest.fixture(scope="module")
def compiled() -> tw.Compiled:
    return tw.compile(float_model(), "nano", calibration={"image": images(8)}, strategy="naive", cpu="cortex-a53", cache=False)


def test_every_public_name_is_there() -> None:
    assert [name for name in tw.__all__ if not hasattr(tw, name)] == []
    assert tw.__version__ == VERSION
    assert set(tw.__all__) == set(dir(tw))
    with pytest.raises(AttributeError, match="no attribute 'complie'"):
        tw.complie  # noqa: B018
    assert (Path(tw.__file__).parent / "py.typed").is_file()


def test_from_a_model_to_a_file_and_back(compiled: tw.Compiled, tmp_path: Path) -> None:
    loaded = tw.load(compiled.save(tmp_path / "m.elf"), cpu="cortex-a53")
    assert loaded.program == compiled.program
    image = images(1)
    answers = [each.run(image)["answer"] for each in (compiled, loaded)]
    answers.append(tw.Session(compiled).run(None, {"image": image})[0])
    answers.append(compiled.run({"image": image}, engine="cpu")["answer"])
    assert all(np.array_equal(answer, answers[0]) for answer in answers)
    assert loaded.time == compiled.time
    assert loaded.config == compiled.config == tw.Config("nano")


def test_check_report_summary_explain_and_schedule(compiled: tw.Compiled, tmp_path: Path) -> None:
    found = compiled.check()
    assert (found.equal, str(found)) == (True, "answer: equal")
    assert [path.name for path in compiled.report(tmp_path / "r", title="mine")] == ["report.html", "trace.json"]
    assert "<title>mine</title>" in (tmp_path / "r" / "report.html").read_text()
    told = compiled.summary
    assert (told.configuration, told.cycles) == ("nano", compiled.time.cycles)
    assert told.ms == pytest.approx(compiled.time.ms or 0.0, abs=1e-6)
    assert f"cycles                   {told.cycles:,} by the cycle model" in str(told)
    explained = compiled.explain()
    assert explained.cycles == told.cycles
    assert "2 groups: the search's estimate" in str(explained)
    again = tw.compile(float_model(), "nano", calibration={"image": images(8)}, schedule=compiled.schedule, cache=False)
    assert again.program == compiled.program
    assert tw.compile(compiled.quantised, "nano", strategy="naive", cache=False).program.words == compiled.program.words


def test_configurations_from_presets_files_and_keywords(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(tw.Config("nano", name="mine", oc_p=8).to_toml())
    mine = tw.Config(tmp_path / "mine.toml")
    assert mine == tw.Config(tw.Config("nano"), name="mine", oc_p=8)
    assert (mine.name, mine.macs_per_cycle, tw.Config().machine) == ("mine", 32, preset("base"))
    assert tw.Config("nano").size()["LUT"].number < mine.size()["LUT"].number
    assert "nano" in tw.Config.presets()
    for wrong, message in (
        (lambda: tw.Config("nano", oc_q=8), "did you mean 'oc_p'"),
        (lambda: tw.Config("nano", oc_p=-1), "oc_p"),
        (lambda: tw.Config("huge"), "neither a preset"),
        (lambda: tw.Config("nano").size(family="ecp"), "did you mean 'ecp5'"),
    ):
        with pytest.raises(tw.TilewrightError, match=message):
            wrong()


DATA = images(4)
FORMS: dict[str, Callable[[Path], Any]] = {
    "by name": lambda folder: {"image": DATA},
    "one array": lambda folder: DATA,
    "batches": lambda folder: iter([DATA[:1], DATA[1:]]),
    "batches by name": lambda folder: [{"image": DATA[:3]}, {"image": DATA[3:]}],
    "npy": lambda folder: np.save(folder / "x.npy", DATA) or folder / "x.npy",  # type: ignore[func-returns-value]
    "npz": lambda folder: np.savez(folder / "x.npz", image=DATA) or str(folder / "x.npz"),  # type: ignore[func-returns-value]
}


@pytest.mark.parametrize("form", FORMS)
def test_calibration_in_whatever_form(form: str, tmp_path: Path) -> None:
    found = arrays_of(FORMS[form](tmp_path), lambda: ONE)
    assert found.keys() == {"image"}
    assert np.array_equal(found["image"], DATA)


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        (3, "of type int: expected"), ([], "gives nothing"), ([DATA, "x"], "batch 1 of type str"),
        ([{"a": DATA}, {"b": DATA}], "batch 1: holds b; expected a"), ([DATA, DATA[:, :2]], "do not go together"),
    ],
)  # fmt: skip
def test_calibration_that_is_none(calibration: Any, message: str) -> None:
    with pytest.raises(tw.TilewrightError, match=message):
        arrays_of(calibration, lambda: ONE)
    with pytest.raises(tw.TilewrightError, match="2 inputs"):
        arrays_of(DATA, lambda: {"a": (1,), "b": (1,)})


def test_a_folder_of_images(tmp_path: Path) -> None:
    folder = pictures(tmp_path / "images", (6, 6), (12, 24), (30, 10))
    found = tw.Images(folder, mean=(0.5, 0.0, 0.2), std=0.5).arrays((1, 3, 6, 6))
    assert found.shape == (3, 3, 6, 6)
    assert found.dtype == np.float32
    middle = found.transpose(0, 2, 3, 1)[:, 2:4, 2:4]  # scaling blurs what is near the margin
    assert np.allclose(middle, (1.0, 0.0, 0.0), atol=1e-6)
    assert tw.Images(folder, size=(4, 8)).arrays((0, 1, 0, 0)).shape == (3, 1, 4, 8)
    assert arrays_of(folder, lambda: ONE)["image"].shape == (3, 3, 6, 6)
    (folder / "bad.png").write_bytes(b"no image")
    for wrong, shape, message in (
        (tw.Images(folder), (1, 3, 6, 6), "bad.png: not an image"),
        (tw.Images(folder, mean=(1, 2)), (1, 3, 6, 6), "2 numbers, expected one"),
        (tw.Images(folder, std=0), (1, 3, 6, 6), "std 0: expected positive"),
        (tw.Images(folder, size=8), (1, 3, 6, 6), "the model takes 6 x 6; leave it out"),
        (tw.Images(folder), (1, 3, 0, 6), "leaves a side open"),
        (tw.Images(folder), (1, 4, 6, 6), "expected batch, 1 or 3 channels"),
        (tw.Images(tmp_path / "none"), (1, 3, 6, 6), "no folder"),
        (tw.Images(tmp_path / "images" / "..", size=6), (1, 3, 6, 6), "not an image"),
    ):
        with pytest.raises(tw.TilewrightError, match=message):
            wrong.arrays(shape)
    (tmp_path / "empty").mkdir()
    with pytest.raises(tw.TilewrightError, match="no image in it"):
        tw.Images(tmp_path / "empty").arrays((1, 3, 6, 6))


class StandIn:
    """For ``torch.nn.Module``: says what it was asked, and how it was exported."""

    def eval(self) -> None:
        self.evaluated = True


def fake_torch(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """As much of torch as an export takes; PyTorch itself is not among what tests install."""
    calls: list[Any] = []

    def export(model: Any, given: tuple[Any, ...], *, dynamo: bool) -> Any:
        calls.append((model, given, dynamo))
        return types.SimpleNamespace(model_proto=float_model())

    class Program:
        pass

    torch: Any = types.ModuleType("torch")
    torch.nn = types.SimpleNamespace(Module=StandIn)
    torch.export = types.SimpleNamespace(ExportedProgram=Program)
    torch.onnx = types.SimpleNamespace(export=export)
    monkeypatch.setitem(sys.modules, "torch", torch)
    return calls


def test_a_torch_module_is_exported_by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in for torch: the module in evaluation, its example inputs as a tuple, the new exporter."""
    calls, module = fake_torch(monkeypatch), StandIn()
    example = np.zeros(INPUT_SHAPE, np.float32)
    made = tw.compile(module, "nano", example_inputs=example, calibration=DATA, strategy="naive", cache=False)
    assert (calls, module.evaluated) == ([(module, (example,), True)], True)
    assert [tensor.name for tensor in made.inputs] == ["image"]
    program = sys.modules["torch"].export.ExportedProgram()
    tw.compile(program, "nano", calibration=DATA, strategy="naive", cache=False)
    assert calls[1:] == [(program, (), True)]
    with pytest.raises(tw.TilewrightError, match="example_inputs: missing"):
        tw.compile(StandIn(), "nano")


def test_models_that_are_none(compiled: tw.Compiled) -> None:
    with pytest.raises(tw.TilewrightError, match=r"model of type int: expected a path, an onnx\.ModelProto"):
        tw.compile(3)
    with pytest.raises(tw.TilewrightError, match="example_inputs: only a torch module"):
        tw.compile(onnx.ModelProto(), example_inputs=DATA)
    with pytest.raises(tw.TilewrightError, match="processor 'cortex-a52': unknown, did you mean 'cortex-a"):
        tw.compile("model.onnx", cpu="cortex-a52")
    with pytest.raises(tw.TilewrightError, match="input 'picture'"):
        compiled.run({"picture": DATA[:1]})


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"weights": 3}, "bits of weights: '3' is unknown"),
        ({"accuracy": "thirty"}, "accuracy 'thirty': not a number; give decibels, as 30dB"),
        ({"keep_float": "nowhere"}, "no node is called 'nowhere'"),
        ({"batch": 0}, "batch 0: images are too few; give 1 or more"),
        ({"cores": 0}, r"cores 0: outside 1\.\.16"),
    ],
)
def test_wrong_values_of_options_are_told(how: dict[str, Any], message: str) -> None:
    with pytest.raises(tw.TilewrightError, match=message):
        tw.compile(float_model(), "nano", calibration=DATA, strategy="naive", cache=False, **how)


def test_numbers_and_single_names_are_as_good_as_text_and_lists() -> None:
    def made(**how: Any) -> tw.Compiled:
        return tw.compile(float_model(), "nano", calibration=DATA, strategy="naive", cache=False, **how)

    name = float_model().graph.node[0].name
    assert made(weights=4, accuracy="1dB").program == made(weights="4", accuracy=1.0).program
    assert made(keep_float=name).program == made(keep_float=[name]).program
