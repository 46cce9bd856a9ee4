"""Sessions: the interface that users of onnxruntime know."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import tilewright
from isa.errors import TilewrightError
from isa.program import WHOLE_MODEL, Program
from isa.program_file import program_bytes
from tests.sim.runtime.fake_board import FakeBoard
from tests.tilewright.small_models import float_model, images
from tilewright.compiling import compile_model


@pytest.fixture(scope="module")
def program() -> Program:
    return compile_model(float_model(), "nano", calibration={"image": images(8)}, strategy="naive", cache=False).program


@pytest.mark.parametrize("engine", ["functional", "cpu"])
def test_answers_are_those_of_onnxruntime_however_often_it_runs(program: Program, engine: str, tmp_path: Path) -> None:
    (tmp_path / "net.elf").write_bytes(program_bytes(program))
    mine = tilewright.Session(tmp_path / "net.elf", engine=engine)
    model = next(graph.model for graph in program.cpu_graphs if graph.name == WHOLE_MODEL)
    theirs = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for seed in range(3):
        feed = {"image": images(1, seed)}
        (found,), (expected,) = mine.run(None, feed), theirs.run(None, feed)
        assert np.array_equal(found, expected)
        assert np.array_equal(mine.run(["answer"], feed)[0], expected)


@pytest.mark.parametrize("engine", ["functional", "rtl", "cpu", "board"])
def test_four_threads_share_a_session(
    program: Program, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Each gets what a session of its own would give, whatever the others run at the time."""
    name = FakeBoard(tmp_path, program.config, monkeypatch).engine if engine == "board" else engine
    feeds = [{"image": images(1, seed)} for seed in range(4)]
    expected = [tilewright.Session(program, engine="cpu").run(None, feed)[0] for feed in feeds]
    shared = tilewright.Session(program, engine=name)
    with ThreadPoolExecutor(4) as threads:
        for _ in range(1 if engine == "rtl" else 5):
            found = threads.map(lambda feed: shared.run(None, feed)[0], feeds)
            assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_it_says_what_it_takes_and_makes(program: Program) -> None:
    session = tilewright.Session(program)
    assert [(t.name, t.shape, t.type) for t in session.get_inputs()] == [("image", (1, 3, 6, 6), "float32")]
    assert [t.name for t in session.get_outputs()] == ["answer"]


def test_wrong_names_are_told(program: Program) -> None:
    with pytest.raises(TilewrightError, match=r"engine 'gpu': unknown, did you mean 'cpu'\?; known are functional, rtl, cpu"):
        tilewright.Session(program, engine="gpu")
    session = tilewright.Session(program)
    with pytest.raises(TilewrightError, match="output 'odd': the network has none of that name; it makes answer"):
        session.run(["odd"], {"image": images(1)})
    with pytest.raises(TilewrightError, match="input 'image' is missing"):
        session.run(None, {})
    with pytest.raises(TilewrightError, match=r"output names 'answer': one text; expected a list of names, as \['answer'\]"):
        session.run("answer", {"image": images(1)})
    with pytest.raises(TilewrightError, match=r"inputs of type ndarray: expected arrays by name, as image"):
        session.run(None, images(1))  # type: ignore[arg-type]


def test_the_package_has_nothing_else_to_offer() -> None:
    with pytest.raises(AttributeError, match="module 'tilewright' has no attribute 'Sessions'"):
        _ = tilewright.Sessions
