"""The cocotb side of the benches on cocotbext-axi's memory and bus master: runs inside the simulator."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from isa.instructions import Region
from isa.registers import Control, Register, Status
from sim.rtl.cocotb_tests import BENCH_VARIABLE, PERIOD_NS, start_clock

LIMIT = 300_000
"""Cycles that a program may take."""


def pauses(seed: int) -> Iterator[bool]:
    """A channel rests: never for a while, then often, then seldom."""
    rng = random.Random(seed)
    while True:
        share = rng.choice((0.0, 0.2, 0.5, 0.8))
        for _ in range(64):
            yield rng.random() < share


@cocotb.test()
async def runs_on_a_foreign_memory(dut: Any) -> None:
    """Each program is started over AXI4-Lite and leaves in the memory what it must, under pauses on all ten channels."""
    case = json.loads(Path(os.environ[BENCH_VARIABLE]).read_text())
    dut.rst.value = 1
    dut.s_axil_awprot.value = 0
    dut.s_axil_arprot.value = 0
    ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=1 << case["address_bits"])
    host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    if case["pauses"]:
        ends = (ram.write_if, ram.read_if, host.write_if, host.read_if)
        channels = [getattr(end, f"{name}_channel") for end in ends for name in ("aw", "w", "b", "ar", "r")
                    if hasattr(end, f"{name}_channel")]  # fmt: skip
        assert len(channels) == 10
        for number, channel in enumerate(channels):
            channel.set_pause_generator(pauses(case["seed"] * 10 + number))
    start_clock(dut)
    for _ in range(5):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    ram.write(case["origin"], Path(case["memory"]).read_bytes())
    ram.write(case["program"], Path(case["code"]).read_bytes())

    async def write(register: int, value: int) -> None:
        await host.write_dword(register, value & 0xFFFFFFFF)

    async def write_pair(register: int, value: int) -> None:
        await write(register, value)
        await write(register + 4, value >> 32)

    await write_pair(Register.PROGRAM_LO, case["program"])
    await write(Register.PROGRAM_WORDS, case["words"])
    for region in Region:
        await write_pair(Register.BASE_CONST_LO + 8 * region, case["bases"][region] + case["origin"])
    await write(Register.IRQ_ENABLE, 1)
    for _ in range(case["times"]):
        await write(Register.CONTROL, Control.START)
        if not int(dut.irq.value):
            await with_timeout(RisingEdge(dut.irq), LIMIT * PERIOD_NS, "ns")
        status = await host.read_dword(Register.STATUS)
        code, place = await host.read_dword(Register.ERROR_CODE), await host.read_dword(Register.ERROR_PC)
        assert status & (Status.DONE | Status.ERROR) == Status.DONE, f"stopped with fault {code} at word {place}"
        await write(Register.IRQ_PENDING, 1)
    expected = np.frombuffer(Path(case["expected"]).read_bytes(), np.uint8)
    actual = np.frombuffer(bytes(ram.read(case["origin"], expected.size)), np.uint8)
    wrong = np.flatnonzero(actual != expected)
    assert wrong.size == 0, f"{wrong.size} bytes of memory differ, first {wrong[0]:#x}"
