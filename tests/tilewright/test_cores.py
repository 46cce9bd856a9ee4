"""Several cores as users ask for them: sessions, ``run``, ``verilog``, ``package``; and what is refused, with the figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilewright
from compiler.quantise.arrays import arrays_file
from isa.bounds import ConfigError
from isa.config import preset
from isa.cores import dram_bytes, with_cores
from isa.errors import TilewrightError
from isa.program import Program
from isa.program_file import program_bytes
from tests.driver.building import digits
from tilewright.batches import joined, split
from tilewright.cli import main
from tilewright.inputs import random_inputs

ZU9 = preset("zu9")
TWO_PORTS = replace(ZU9, name="two_ports", axi_ports=2, axi_data_bits=256)


@pytest.fixture(autouse=True)
def one_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_ONE_BUILD", "1")


@pytest.fixture(scope="module")
def program() -> Program:
    return digits()


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, output and errors of a command."""

    def ran(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return ran


def test_a_session_of_two_cores(program: Program) -> None:
    session = tilewright.Session(program, engine="rtl", cores=2)
    feeds = [random_inputs(program, seed) for seed in range(3)]
    found = session.run_batch(None, feeds)
    expected = tilewright.Session(program, engine="functional", cores=2).run_batch(None, feeds)
    assert all(np.array_equal(one, other) for mine, theirs in zip(found, expected, strict=True)
               for one, other in zip(mine, theirs, strict=True))  # fmt: skip
    assert session.batch is not None
    assert session.batch.cores == [0, 1, 0]
    assert session.batch.per_second(60) > 0


@pytest.mark.parametrize("engine", ["functional", "rtl"])
def test_run_takes_a_batch_that_no_core_count_divides(run: Run, engine: str, program: Program, tmp_path: Path) -> None:
    (tmp_path / "net.elf").write_bytes(program_bytes(program))
    feeds = [random_inputs(program, seed) for seed in range(3)]
    (tmp_path / "batch.npz").write_bytes(arrays_file(joined(feeds)))
    words = ("run", tmp_path / "net.elf", "--input", tmp_path / "batch.npz", "--engine", engine, "--cores", 2)
    code, out, err = run(*words, "-o", tmp_path / "out.npz")
    assert code == 0, err
    assert "warning: cores 2: nano is probably beyond its chip LFE5U-25F: 2 x" in err
    expected = tilewright.Session(program).run_batch(None, feeds)
    with np.load(tmp_path / "out.npz") as made:
        (name,) = made.files
        assert np.array_equal(made[name], np.concatenate([one[0] for one in expected]))
    if engine == "rtl":
        assert "3 images in " in out
        assert " images/s at 60 MHz\ncore 0: 2 images, idle" in out
        code, out, _ = run(*words, "--json", "-o", tmp_path / "out.npz")
        told = json.loads(out)
        assert (told["images"], told["image_cores"], len(told["idle"])) == (3, [0, 1, 0], 2)


@pytest.mark.parametrize(
    ("engine", "cores", "message"),
    [
        ("functional", 0, r"cores 0: outside 1\.\.16"),
        ("rtl", 17, r"cores 17: outside 1\.\.16"),
        ("cpu", 2, "cores 2: engine 'cpu' has one; choose functional or rtl"),
        ("mem:0xa0000000,0x70000000,64M", 2, "cores 2: engine 'mem:0xa0000000,0x70000000,64M' has one"),
    ],
)
def test_cores_that_an_engine_does_not_have(engine: str, cores: int, message: str, program: Program) -> None:
    with pytest.raises(TilewrightError, match=message):
        tilewright.Session(program, engine=engine, cores=cores)


def test_batches_that_are_none(program: Program) -> None:
    tensor = program.inputs[0]
    shape = (0, *tensor.shape[1:])
    with pytest.raises(TilewrightError, match=f"input {tensor.name!r}: 0 is no multiple of the 1 that an image has"):
        split(program, {tensor.name: np.zeros(shape, tensor.type)})
    pair = replace(program, inputs=(tensor, replace(tensor, name="other")))
    arrays = {tensor.name: np.zeros((2, *tensor.shape[1:])), "other": np.zeros((3, *tensor.shape[1:]))}
    with pytest.raises(TilewrightError, match="of 2, other of 3 images; give the same number of each"):
        split(pair, arrays)


def test_chips_hold_so_many_machines() -> None:
    assert with_cores(ZU9, 2).chip_cores == 2
    assert with_cores(ZU9, 1) is ZU9
    assert with_cores(ZU9, 2).hash == ZU9.hash, "one program serves all"
    message = r"cores 3: with 2 ports each .* they have 6, and XCZU9EG has 4 to its DRAM; ask for 2"
    with pytest.raises(ConfigError, match=message):
        with_cores(TWO_PORTS, 3)
    with pytest.raises(ConfigError, match=r"cores 2: base is probably beyond its chip XCK26: 2 x \d+ BRAM"):
        with_cores(preset("base"), 2)
    with pytest.raises(ConfigError, match=r"cores 17: outside 1\.\.16"):
        with_cores(ZU9, 17)


def test_dram_of_a_chip_in_a_cycle() -> None:
    assert dram_bytes(ZU9) == 58, "19.2 GB/s at 330 MHz"
    assert dram_bytes(preset("nano")) == preset("nano").axi_bytes


@pytest.mark.parametrize("command", [("verilog",), ("package", "--for", "fusesoc")])
def test_a_chip_that_is_too_small_is_refused(run: Run, command: tuple[str, ...], tmp_path: Path) -> None:
    code, _, err = run(*command, "--config", "nano", "--cores", 2, "-o", tmp_path / "new")
    assert code == 2
    assert "cores 2: nano is probably beyond its chip LFE5U-25F: 2 x" in err
    assert not (tmp_path / "new").exists()


def test_dram_that_cannot_feed_all_ports_is_told(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.rtl.build.core_verilog", lambda *_, **__: "")
    monkeypatch.setattr("hw.delivery.files.arrange", lambda *_: {})
    (tmp_path / "two.toml").write_text('base = "zu9"\nname = "two_ports"\naxi_ports = 2\naxi_data_bits = 256\n')
    code, _, err = run("verilog", "--config", tmp_path / "two.toml", "--cores", 2, "-o", tmp_path / "new")
    assert code == 0
    assert "two_ports can take 21.1 GB/s of DRAM (axi_data_bits, clock_mhz, chip_cores), XCZU9EG has 19.2 at most" in err
