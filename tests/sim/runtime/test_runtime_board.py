"""Boards from Linux: a program on a device made of files gives what the functional simulator gives, and says what is wrong."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tilewright
from compiler.frontend.reader import Source
from isa.assembler import assemble
from isa.config import preset
from isa.faults import MachineFault
from isa.program import Program
from isa.registers import Register
from sim.runtime import board, board_engine
from sim.runtime.board import BoardError, Interrupts, open_board
from tests.compiler.frontend.quantised_models import model, node, weights
from tests.e2e.network_runs import compiled
from tests.sim.runtime.fake_board import ADDRESS, CYCLES, FakeBoard
from tilewright.inputs import random_inputs

NANO = preset("nano")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBoard:
    monkeypatch.setattr(board_engine, "SECONDS", 0.05)
    return FakeBoard(tmp_path, NANO, monkeypatch)


def network() -> Source:
    """Two machine steps with a part for onnxruntime in between."""
    table: dict[str, NDArray[Any]] = {"w": weights(5, 3, 3, 3), "v": weights(4, 5, 3, 3), "axis": np.array(3, np.int64)}
    return model([node("Conv", "x w", "a"), node("CumSum", "a axis", "b"), node("Conv", "b v")], (1, 3, 6, 10), table)


def test_same_outputs_as_the_functional_simulator(fake: FakeBoard) -> None:
    program = compiled(network(), "nano").program
    mine, theirs = tilewright.Session(program, engine=fake.engine), tilewright.Session(program)
    for seed in range(3):
        feed = random_inputs(program, seed)
        (found,), (expected,) = mine.run(None, feed), theirs.run(None, feed)
        assert np.array_equal(found, expected)
    assert fake.starts == 6
    assert mine.measured.cycles == 2 * CYCLES
    assert ADDRESS % 4096, "regions begin at multiples of a page, wherever the buffer begins"


def test_another_program_brings_its_own_constants(fake: FakeBoard) -> None:
    first = compiled(model([node("Conv", "x w")], (1, 3, 6, 10), {"w": weights(5, 3, 3, 3)}), "nano").program
    second = compiled(model([node("Conv", "x w")], (1, 3, 6, 10), {"w": -weights(5, 3, 3, 3)}), "nano").program
    for program in (first, second, first):
        feed = random_inputs(program, 1)
        (found,) = tilewright.Session(program, engine=fake.engine).run(None, feed)
        assert np.array_equal(found, tilewright.Session(program).run(None, feed)[0])


def test_a_fault_is_that_of_the_machine(fake: FakeBoard) -> None:
    words = tuple(assemble("START config=CONFIG\nLOADP count=2 dst=0xffff\nEND", config=NANO, check_rules=False))
    session = tilewright.Session(Program(NANO, words), engine=fake.engine)
    with pytest.raises(MachineFault, match="instruction word 2: BUFFER_ADDRESS"):
        session.run(None, {})


@pytest.mark.parametrize(
    ("mood", "message"),
    [
        ("hangs", "not done within 0.05 s; the machine was stopped"),
        ("refuses", "did not take the start"),
        ("gone", "registers do not answer any more"),
        ("raves", "ERROR_CODE 16391: no fault has that code; check clock and bus"),
    ],
)
def test_what_a_board_does_wrong_while_it_runs(mood: str, message: str, fake: FakeBoard) -> None:
    program = Program(NANO, tuple(assemble("START config=CONFIG\nEND", config=NANO)))
    session = tilewright.Session(program, engine=fake.engine)
    fake.mood = mood
    with pytest.raises(BoardError, match=message):
        session.run(None, {})
    if mood == "hangs":
        fake.mood = "well"
        session.run(None, {})


@pytest.mark.parametrize(
    ("register", "message"),
    [(Register.ID, "register ID reads 0x00000007"), (Register.VERSION, "register VERSION"), (Register.CONFIG, "for 'nano'")],
)
def test_another_machine_is_refused(register: Register, message: str, fake: FakeBoard) -> None:
    fake[register] = 7
    with pytest.raises(BoardError, match=message):
        tilewright.Session(Program(NANO, ()), engine=fake.engine)


def test_a_machine_that_does_not_become_idle(fake: FakeBoard) -> None:
    fake.mood = "stuck"
    with pytest.raises(BoardError, match="does not become idle"):
        tilewright.Session(Program(NANO, ()), engine=fake.engine)


def test_a_program_that_is_too_large_for_the_buffer(fake: FakeBoard) -> None:
    program = Program(NANO, tuple(assemble("START config=CONFIG\nEND", config=NANO)), work_bytes=1 << 20)
    with pytest.raises(BoardError, match=r"needs \d+ bytes of DRAM, and the board has 1048576; reserve more"):
        tilewright.Session(program, engine=fake.engine).run(None, {})


def test_memory_by_address(fake: FakeBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mem").write_bytes(bytes(1 << 16) + bytes([5]) * (1 << 16))
    monkeypatch.setattr(board, "DEVICE_MEMORY", tmp_path / "mem")
    found = open_board("mem:0x1000,0x10000,64K")
    assert (found.dram.address, found.dram.memory.size, int(found.dram.memory[0])) == (0x10000, 1 << 16, 5)
    found.write(0x10, 0x12345678)
    assert (tmp_path / "mem").read_bytes()[0x1010:0x1014] == bytes.fromhex("78563412")


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("uio:", "expected uio:DEVICE"), ("uio:a,b,c", "expected uio:DEVICE"), ("mem:0x1000,0x2000", "expected uio:DEVICE"),
        ("mem:0x1000,0x2000,lots", "'lots' is no number"), ("uio:/nowhere/uio0", "device /nowhere/uio0 cannot be opened"),
    ],
)  # fmt: skip
def test_names_that_are_no_boards(engine: str, message: str) -> None:
    with pytest.raises(BoardError, match=message):
        open_board(engine)


def test_a_buffer_that_nobody_knows(fake: FakeBoard, tmp_path: Path) -> None:
    (tmp_path / "udmabuf7").write_bytes(bytes(4096))
    with pytest.raises(BoardError, match="is u-dma-buf loaded"):
        open_board(f"uio:{tmp_path / 'uio0'},{tmp_path / 'udmabuf7'}")


def test_interrupts_are_armed_awaited_and_taken() -> None:
    """A pair of sockets in the place of the device's file."""
    device, kernel = socket.socketpair()
    with device, kernel:
        interrupts = Interrupts(device.fileno())
        interrupts.arm()
        assert int.from_bytes(os.read(kernel.fileno(), 8), "little") == 1
        interrupts.wait(0.01)  # none comes
        os.write(kernel.fileno(), bytes(4))
        interrupts.wait(10)
        kernel.setblocking(False)
        device.setblocking(False)
        with pytest.raises(BlockingIOError):
            device.recv(1)
