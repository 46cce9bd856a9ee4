"""A whole machine in Amaranth's simulator: a program over every unit, DRAM and registers in Python."""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import Any

import pytest

from hw import copies
from hw.axi.signature import RESP_ERROR_BIT
from hw.core import Core
from isa.codec import Op, encode
from isa.config import MachineConfig, preset
from isa.faults import Fault
from isa.instructions import Buffer, MiscMode, PoolMode, Unit
from isa.registers import Register, Status
from isa.requantisation import ONE, ONE_SHIFT, packed
from tests.hw.axi_lite import read_register, write_register
from tests.hw.simulation import Simulator

CONFIG = dataclasses.replace(preset("nano"), fm_depth=16, weight_depth=16, param_depth=2, taps_depth=4, pool_param_depth=2)
PROGRAM_AT = 0x1000
MEMORY_BYTES = 0x2000


class Host:
    """Memory and driver: answers bursts in order, one beat per cycle, and plays register accesses."""

    def __init__(self, core: Core, config: MachineConfig, memory: bytearray) -> None:
        self.core = core
        self.beat = config.axi_bytes
        self.memory = memory
        self.reads: deque[tuple[int, int, bool]] = deque()
        self.writes: deque[tuple[int, bool]] = deque()
        self.responses = 0

    async def cycle(self, ctx: Any) -> None:
        axi = self.core.axi
        for ready in (axi.arready, axi.awready):
            ctx.set(ready, 1)
        ctx.set(axi.wready, bool(self.writes))
        ctx.set(axi.rvalid, bool(self.reads))
        ctx.set(axi.bvalid, self.responses > 0)
        if self.reads:
            addr, ident, last = self.reads[0]
            inside = addr + self.beat <= len(self.memory)
            ctx.set(axi.rdata, int.from_bytes(self.memory[addr : addr + self.beat], "little"))
            ctx.set(axi.rid, ident)
            ctx.set(axi.rlast, last)
            ctx.set(axi.rresp, 0 if inside else 1 << RESP_ERROR_BIT)
        if self.reads and ctx.get(axi.rready):
            self.reads.popleft()
        if self.responses and ctx.get(axi.bready):
            self.responses -= 1
        if self.writes and ctx.get(axi.wvalid):
            addr, last = self.writes.popleft()
            assert ctx.get(axi.wlast) == last
            for byte in range(self.beat):
                if ctx.get(axi.wstrb) >> byte & 1:
                    self.memory[addr + byte] = ctx.get(axi.wdata) >> 8 * byte & 0xFF
            self.responses += last
        for prefix, queue in (("ar", self.reads), ("aw", self.writes)):
            if ctx.get(getattr(axi, f"{prefix}valid")):
                addr, beats = ctx.get(getattr(axi, f"{prefix}addr")), ctx.get(getattr(axi, f"{prefix}len")) + 1
                for n in range(beats):
                    last = n == beats - 1
                    at = addr + n * self.beat
                    queue.append((at, ctx.get(axi.arid), last) if prefix == "ar" else (at, last))  # type: ignore[arg-type]
        await ctx.tick()

    async def write(self, ctx: Any, register: Register, value: int) -> int:
        return await write_register(ctx, self.core.axi_lite, register, value, lambda: self.cycle(ctx))

    async def read(self, ctx: Any, register: Register) -> int:
        return await read_register(ctx, self.core.axi_lite, register, lambda: self.cycle(ctx))


def run(ops: list[Op], memory: bytearray) -> dict[str, int]:
    """Execute the instructions between START and END; returns the registers that tell how it went."""
    words = [word for op in (Op("START", {"config": CONFIG.hash}), *ops, Op("END")) for word in encode(op)]
    memory[PROGRAM_AT : PROGRAM_AT + 4 * len(words)] = b"".join(word.to_bytes(4, "little") for word in words)
    core = Core(CONFIG)
    host = Host(core, CONFIG, memory)
    seen: dict[str, int] = {}

    async def process(ctx: Any) -> None:
        await host.write(ctx, Register.PROGRAM_LO, PROGRAM_AT)
        await host.write(ctx, Register.PROGRAM_WORDS, len(words))
        await host.write(ctx, Register.IRQ_ENABLE, 1)
        await host.write(ctx, Register.CONTROL, 1)
        cycles = 0
        while not ctx.get(core.irq) and cycles < 3000:
            await host.cycle(ctx)
            cycles += 1
        seen["cycles"] = cycles
        for register in (Register.ID, Register.STATUS, Register.ERROR_CODE, Register.ERROR_PC, Register.WRITE_BEATS):
            seen[register.name] = await host.read(ctx, register)

    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
    return seen


def records(lanes: int, bias: int) -> bytes:
    return packed(bias, ONE, ONE_SHIFT).to_bytes(8, "little") * lanes


WINDOW = {
    "s_y": 1, "s_x": 1, "k_h": 1, "k_w": 1, "i_h": 2, "i_w": 4, "i_ys": 4, "d_y": 1, "d_x": 1, "vectors": 1,
    "o_h": 2, "o_w": 4, "o_xs": 1, "o_ys": 4, "lo": -128, "hi": 127,
}  # fmt: skip
IMAGE, LOADED, CONVOLVED, POOLED, ADDED = 0x000, 0, 16, 32, 48
"""Bytes of the image in DRAM; then its feature-map words, and those that each unit leaves. All in different banks."""
WEIGHTS, PARAMS, POOL_PARAMS, TAPS, RESULT = 0x400, 0x440, 0x480, 0x4C0, 0x800


def test_every_unit_takes_part_with_few_copies_and_with_many(monkeypatch: pytest.MonkeyPatch) -> None:
    few = every_unit()
    monkeypatch.setattr(copies, "PINS", 5)
    assert every_unit() == few


def every_unit() -> int:
    """The cycles that it takes."""
    memory = bytearray(MEMORY_BYTES)
    image = [(7 * n) % 23 - 11 for n in range(8 * CONFIG.ic_p)]
    memory[IMAGE : IMAGE + len(image)] = bytes(value & 0xFF for value in image)
    weights = [[1 if i == o else 2 if i == 0 else 0 for i in range(4)] for o in range(4)]
    memory[WEIGHTS : WEIGHTS + 16] = bytes(weights[o][i] for i in range(4) for o in range(4))
    memory[PARAMS : PARAMS + 32] = records(4, bias=5)
    memory[POOL_PARAMS : POOL_PARAMS + 32] = records(4, bias=-1)
    memory[TAPS : TAPS + 4] = bytes([3, 3, 3, 3])

    def parameters(buffer: Buffer, offset: int) -> Op:
        return Op("LOADP", {"offset": offset, "count": 1, "buffer": buffer})

    ops = [
        parameters(Buffer.WEIGHT, WEIGHTS),
        parameters(Buffer.PARAM, PARAMS),
        parameters(Buffer.TAPS, TAPS),
        parameters(Buffer.POOL_PARAM, POOL_PARAMS),
        Op(
            "LOAD",
            {"offset": IMAGE, "rows": 2, "pixels": 4, "row_stride": 16, "step": 4, "run": 4, "valid": 16, "d_xs": 1, "d_ys": 4},
            signal=frozenset({Unit.CONV, Unit.POOL}),
        ),
        Op("CONV", WINDOW | {"o_addr": CONVOLVED, "chunks": 1}, wait=frozenset({Unit.LOAD}), signal=frozenset({Unit.MISC})),
        Op(
            "POOL",
            WINDOW | {"o_addr": POOLED, "mode": PoolMode.DEPTHWISE},
            wait=frozenset({Unit.LOAD}),
            signal=frozenset({Unit.MISC}),
        ),
        Op(
            "MISC",
            {
                "a_addr": CONVOLVED, "b_addr": POOLED, "o_addr": ADDED, "mode": MiscMode.ADD, "m_a": 1, "m_b": 1,
                "n0": 1, "n1": 1, "n2": 1, "n3": 1, "n4": 8, "a_s4": 1, "b_s4": 1, "o_s4": 1, "lo": -128, "hi": 127,
            },
            wait=frozenset({Unit.CONV, Unit.POOL}),
            signal=frozenset({Unit.SAVE}),
        ),
        Op(
            "SAVE",
            {"offset": RESULT, "rows": 1, "pixels": 8, "step": 4, "run": 4, "s_addr": ADDED, "s_xs": 1, "region": 3},
            wait=frozenset({Unit.MISC}),
        ),
    ]  # fmt: skip
    seen = run(ops, memory)
    cycles = seen.pop("cycles")

    expected = []
    for pixel in range(8):
        x = image[4 * pixel : 4 * pixel + 4]
        for lane in range(4):
            convolved = sum(a * b for a, b in zip(x, weights[lane], strict=True)) + 5
            expected.append(convolved + 3 * x[lane] - 1)
    assert seen == {"ID": 0x52574C54, "STATUS": Status.DONE | Status.IDLE, "ERROR_CODE": 0, "ERROR_PC": 0, "WRITE_BEATS": 4}
    assert list(memory[RESULT : RESULT + 32]) == [value & 0xFF for value in expected]
    return cycles


def test_a_fault_stops_the_machine_and_names_the_instruction() -> None:
    load = {"rows": 1, "pixels": 1, "step": 8, "run": 4, "valid": 4}
    start = len(encode(Op("START", {"config": 0})))
    seen = run([Op("LOAD", load), Op("LOAD", load | {"d_addr": CONFIG.fm_words})], bytearray(MEMORY_BYTES))
    assert seen["STATUS"] == Status.ERROR | Status.IDLE
    assert seen["ERROR_CODE"] == Fault.FM_ADDRESS
    assert seen["ERROR_PC"] == start + len(encode(Op("LOAD", load)))


def test_an_error_answer_from_dram_stops_the_machine() -> None:
    load = {"offset": MEMORY_BYTES, "rows": 1, "pixels": 1, "step": 8, "run": 4, "valid": 4}
    seen = run([Op("LOAD", load)], bytearray(MEMORY_BYTES))
    assert seen["STATUS"] == Status.ERROR | Status.IDLE
    assert seen["ERROR_CODE"] == Fault.READ_ERROR
