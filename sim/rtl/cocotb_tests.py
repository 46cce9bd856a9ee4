"""The cocotb side of the benches, which runs inside the simulator. Python awaits events, never single cycles of a program."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, SimTimeoutError, Timer, with_timeout

from isa.instructions import Unit
from isa.registers import ID_VALUE, Control, Counter, Register, Status, counter_offset
from sim.rtl.machine import read_dump
from sim.rtl.script import read_result

PERIOD_NS = 2
BENCH_VARIABLE = "TILEWRIGHT_BENCH"
"""The environment variable with the JSON file that says what must come of a scenario."""
FAST_VARIABLE = "TILEWRIGHT_CLK2X"
"""The environment variable that is set if the machine has a second clock."""
SLVERR = 2


def start_clock(dut: Any) -> None:
    """Starts the clock. ``clk2x``, which only some machines have, rises with it and in between."""
    dut.clk.value = 0
    dut.clk2x.value = 0
    Clock(dut.clk, PERIOD_NS, unit="ns", impl="gpi").start()
    if os.environ.get(FAST_VARIABLE):
        Clock(dut.clk2x, PERIOD_NS / 2, unit="ns", impl="gpi").start()


@cocotb.test()
async def plays_scenario(dut: Any) -> None:
    """The host in HDL plays its script. Then every ending, the AXI4 rules and the memory are compared."""
    wanted = json.loads(Path(os.environ[BENCH_VARIABLE]).read_text())
    start_clock(dut)
    await RisingEdge(dut.finished)
    await Timer(2 * PERIOD_NS, "ns")
    results, ending = read_result(Path("result.txt").read_text())
    assert ending == "end", "the interrupt did not come: the machine hangs"
    endings = [(r[Register.ERROR_CODE], r[Register.ERROR_PC] if r[Register.ERROR_CODE] else 0) for r in results]
    for number, (expected, actual) in enumerate(zip(wanted["endings"], endings, strict=True)):
        assert expected is None or tuple(expected) == actual, (
            f"program {number}: expected (code, word) {tuple(expected)}, got {actual}"
        )
    assert int(dut.broken.value) == 0, f"AXI4 rules broken: {int(dut.broken.value):010b} (see axi_checker.v)"
    assert int(dut.quiet.value) == 1, "bursts were left without their data or response"
    if wanted["compare_memory"]:
        expected_memory = np.frombuffer(Path(wanted["expected"]).read_bytes(), np.uint8)
        memory = read_dump(Path("dump").read_text(), wanted["beat"])
        wrong = np.flatnonzero(memory != expected_memory)
        assert wrong.size == 0, f"{wrong.size} bytes of memory differ, first {wrong[0]:#x}"


class Registers:
    """A host on the AXI4-Lite bus that waits ``patience`` cycles before each of its handshakes."""

    def __init__(self, dut: Any, patience: int = 0) -> None:
        self.dut = dut
        self.patience = patience

    async def write(self, offset: int, value: int, strobe: int = 0xF, *, data_first: bool = False) -> int:
        """Writes a register; returns the response."""
        dut = self.dut
        address = cocotb.start_soon(self._offer(dut.awvalid, dut.awready, {dut.awaddr: offset}, 3 if data_first else 0))
        await self._offer(dut.wvalid, dut.wready, {dut.wdata: value, dut.wstrb: strobe}, 0 if data_first else 3)
        await address
        return (await self._take(dut.bvalid, dut.bready, [dut.bresp]))[0]

    async def read(self, offset: int) -> tuple[int, int]:
        """Reads a register; returns data and response."""
        dut = self.dut
        await self._offer(dut.arvalid, dut.arready, {dut.araddr: offset}, 0)
        data, response = await self._take(dut.rvalid, dut.rready, [dut.rdata, dut.rresp])
        return data, response

    async def value(self, offset: int) -> int:
        data, response = await self.read(offset)
        assert response == 0, f"register {offset:#x}: response {response}"
        return data

    async def _offer(self, valid: Any, ready: Any, payload: dict[Any, int], delay: int) -> None:
        await self._cycles(self.patience and self.patience + delay)
        for signal, value in payload.items():
            signal.value = value
        valid.value = 1
        while True:
            await ReadOnly()
            taken = int(ready.value)
            await RisingEdge(self.dut.clk)
            if taken:
                break
        valid.value = 0

    async def _take(self, valid: Any, ready: Any, payload: list[Any]) -> list[int]:
        """Waits for a response, lets it wait, and takes it. It must not change meanwhile."""
        while True:
            await ReadOnly()
            if int(valid.value):
                break
            await RisingEdge(self.dut.clk)
        first = [int(signal.value) for signal in payload]
        for _ in range(self.patience):
            await RisingEdge(self.dut.clk)
            await ReadOnly()
            assert int(valid.value), "a response was withdrawn before it was taken"
            assert [int(signal.value) for signal in payload] == first, "a response changed before it was taken"
        await RisingEdge(self.dut.clk)
        ready.value = 1
        await RisingEdge(self.dut.clk)
        ready.value = 0
        return first

    async def _cycles(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)


async def reset(dut: Any) -> None:
    dut.rst.value = 1
    for signal in (dut.awvalid, dut.wvalid, dut.arvalid, dut.bready, dut.rready, dut.awaddr, dut.araddr, dut.wdata, dut.wstrb):
        signal.value = 0
    start_clock(dut)
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


@cocotb.test()
async def drives_registers(dut: Any) -> None:
    """Registers read back what was written, under every order and delay of the channels. Unmapped ones are refused."""
    wanted = json.loads(Path(os.environ[BENCH_VARIABLE]).read_text())
    await reset(dut)
    for patience in (0, 1, 5):
        registers = Registers(dut, patience)
        assert await registers.value(Register.ID) == ID_VALUE
        assert await registers.value(Register.CONFIG) == wanted["hash"]
        for data_first in (False, True):
            pattern = 0x12345678 + patience
            assert await registers.write(Register.PROGRAM_WORDS, pattern, data_first=data_first) == 0
            assert await registers.value(Register.PROGRAM_WORDS) == pattern
            assert await registers.write(Register.PROGRAM_WORDS, 0xAABBCCDD, 0b0101, data_first=data_first) == 0
            assert await registers.value(Register.PROGRAM_WORDS) == (pattern & 0xFF00FF00) | 0x00BB00DD
        for offset in (0x038, 0x07C, 0x090, 0x0FC, counter_offset(len(Unit), Counter.BUSY), 0xFFC):
            assert (await registers.read(offset))[1] == SLVERR, f"read of the unmapped register {offset:#x}"
            assert await registers.write(offset, 1) == SLVERR, f"write of the unmapped register {offset:#x}"
        assert await registers.write(Register.ID, 0) == 0
        assert await registers.value(Register.ID) == ID_VALUE, "a read-only register changed"
        assert await registers.value(Register.STATUS) == Status.IDLE


@cocotb.test()
async def runs_program(dut: Any) -> None:
    """A program starts, is busy, gives an interrupt, is done and is acknowledged; then it runs once more without the
    interrupt."""
    wanted = json.loads(Path(os.environ[BENCH_VARIABLE]).read_text())
    await reset(dut)
    registers = Registers(dut, 1)
    await registers.write(Register.PROGRAM_LO, wanted["address"])
    await registers.write(Register.PROGRAM_WORDS, wanted["words"])
    for enabled in (1, 0):
        await registers.write(Register.IRQ_ENABLE, enabled)
        await registers.write(Register.CONTROL, Control.START)
        assert await registers.value(Register.STATUS) == Status.BUSY
        if enabled:
            await with_timeout(RisingEdge(dut.irq), 20_000 * PERIOD_NS, "ns")
        else:
            while await registers.value(Register.STATUS) & Status.BUSY:
                pass
            assert not int(dut.irq.value), "an interrupt that was not enabled"
        assert await registers.value(Register.STATUS) == Status.DONE | Status.IDLE
        assert await registers.value(Register.IRQ_PENDING) == 1
        assert await registers.value(Register.CYCLES_LO) > 0
        assert await registers.value(Register.READ_BEATS) >= wanted["beats"]
        await registers.write(Register.IRQ_PENDING, 1)
        assert await registers.value(Register.IRQ_PENDING) == 0
        assert not int(dut.irq.value)
    try:
        await with_timeout(RisingEdge(dut.irq), 500 * PERIOD_NS, "ns")
    except SimTimeoutError:
        return
    raise AssertionError("an interrupt without a program")
