"""Several cores as users ask for them: sessions, ``run``, ``verilog``, ``package``; and what is refused, with the figures."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilewright
from compiler.programs.together import shared_steps
from compiler.quantise.arrays import arrays_file
from compiler.search.effort import effort_of
from isa.bounds import ConfigError
from isa.config import preset
from isa.cores import dram_bytes, with_cores
from isa.errors import TilewrightError
from isa.program import Program
from isa.program_file import program_bytes
from tests.compiler.graphs import Builder
from tests.driver.building import DEMO, digits
from tilewright.batches import joined, split
from tilewright.cli import main
from tilewright.inputs import random_inputs
from tilewright.profile.activity import modelled

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


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same network for two machines of a chip that holds them."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "any.toml").write_text('base = "nano"\nname = "any"\nchip = ""\n')
    assert main([*map(str, compiling(folder)), "--cores", "2", "--csv", str(folder / "table.csv")]) == 0
    return folder


def compiling(folder: Path) -> tuple[str | Path, ...]:
    calibration = DEMO / "digits_calibration.npz"
    return (
        "compile", DEMO / "digits.onnx", "--calibrate", calibration, "--config", folder / "any.toml", "-o", folder / "two.elf"
    )  # fmt: skip


def test_one_image_on_two_cores(run: Run, program: Program, shared: Path) -> None:
    (shared / "batch.npz").write_bytes(arrays_file(joined([random_inputs(program, seed) for seed in range(2)])))
    words = ("run", shared / "two.elf", "--input", shared / "batch.npz", "--engine", "rtl", "--cores", 2)
    code, out, err = run(*words, "-o", shared / "out.npz")
    assert (code, err) == (0, "")
    assert "2 images in " in out
    assert "core 0: a part of each image, idle " in out
    session = tilewright.Session(shared / "two.elf", engine="rtl", cores=2)
    alone = tilewright.Session(program)
    with np.load(shared / "out.npz") as made:
        (name,) = made.files
        for number in range(2):
            feed = random_inputs(program, number)
            (expected,) = alone.run(None, feed)
            assert np.array_equal(made[name][number : number + 1], expected)
            assert np.array_equal(session.run(None, feed)[0], expected)
    assert session.measured.counted_cycles > 0


def test_the_table_of_a_shared_run_has_the_time_of_its_phases(shared: Path) -> None:
    """The layers of a phase stand in its part; parts take the cycles of the slowest core."""
    loaded = tilewright.load(shared / "two.elf")
    steps = loaded.program.steps
    assert [type(step).__name__ for step in steps] == ["CpuStep", "MachineStep", "MachineStep", "MachineStep", "CpuStep"]
    first, second, third = modelled(loaded.program).steps
    with (shared / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    times = {row["part"]: float(row["ms"]) for row in rows if row["where"] == "machine"}
    assert times == pytest.approx({"machine 1": max(first, second) / 60_000, "machine 2": third / 60_000}, abs=1e-6)
    parts = {row["layer"]: row["part"] for row in rows if row["layer"]}
    assert (parts["conv2"], parts["logits"]) == ("machine 1", "machine 2")
    assert loaded.time.cycles == max(first, second) + third


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--config", "nano"), "cores 2: nano is probably beyond its chip LFE5U-25F: 2 x"),
        (("--memory", "4K"), "cores 2: not together with memory; leave either out"),
        (("--evaluator", "cycle"), "cores 2: not together with evaluator; leave either out"),
        (("--objective", "dram"), "cores 2: objective 'dram'; cores share an image for objective cycles alone"),
        (("--save-schedule", "new.toml"), "schedule: cores share group "),
    ],
)
def test_what_cores_do_not_share_an_image_with(
    run: Run, shared: Path, words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*compiling(shared)[:-1], tmp_path / "new.elf", "--cores", 2, *words)
    assert code == 2
    assert message in err
    assert not list(tmp_path.iterdir())


def test_a_network_too_small_to_share() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(2, 2, 4), 4))
    with pytest.raises(TilewrightError, match=f"cores 2: no group of {graph.name} is faster on several; leave it out"):
        shared_steps(replace(preset("nano"), chip=""), graph, 2, "best", effort_of("quick"))


def test_a_shared_program_on_other_machines(run: Run, shared: Path, tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="cores 3: the program is for 2, which share each image; give 2, or 1"):
        tilewright.Session(shared / "two.elf", engine="rtl", cores=3)
    code, _, err = run("report", shared / "two.elf", "-o", tmp_path / "report")
    assert code == 2
    assert "program: 2 cores share each image, and times of instructions are told of one" in err


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
