"""Each row of ``isa.bus_rules`` is what the hardware does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from types import ModuleType
from typing import Any

import pytest
from amaranth.sim import SimulatorContext

from hw.axi.port import AxiPort
from hw.control.lite import LiteEndpoint
from isa.bus_rules import MASTER, SLAVE
from isa.config import preset
from tests.hw import test_core_program as program
from tests.hw.axi import test_axi_arbiter as arbiter
from tests.hw.axi import test_axi_burst as burst
from tests.hw.axi import test_axi_engines as engines
from tests.hw.axi import test_axi_port as port
from tests.hw.control import test_register_map as registers
from tests.hw.simulation import Simulator

NANO = preset("nano")
HERE = ""
Tests = dict[str, tuple[ModuleType | str, str]]
OF_MASTER: Tests = {
    "AxADDR, AxLEN": (burst, "test_bursts_cover_the_runs_exactly"),
    "AxSIZE, AxBURST, AxLOCK": (HERE, "test_bursts_are_of_whole_beats"),
    "AxCACHE, AxPROT, AxQOS": (port, "test_no_more_reads_are_on_the_bus_than_the_configuration_allows"),
    "ARID, AWID": (arbiter, "test_fetch_goes_first"),
    "ARVALID": (port, "test_no_more_reads_are_on_the_bus_than_the_configuration_allows"),
    "AxVALID, WVALID": (HERE, "test_what_is_valid_stays_as_it_is_whatever_its_user_does"),
    "WVALID": (engines, "test_writes_arrive_and_are_counted"),
    "WLAST, WSTRB": (engines, "test_a_halted_write_completes_its_bursts_without_touching_memory"),
    "RID": (arbiter, "test_data_goes_to_the_reader_that_its_id_names"),
    "RREADY, BREADY": (HERE, "test_two_responses_are_taken_before_anybody_wants_them"),
    "RRESP, BRESP": (program, "test_an_error_answer_from_dram_stops_the_machine"),
    "BID": (HERE, "test_two_responses_are_taken_before_anybody_wants_them"),
}
OF_SLAVE: Tests = {
    "AWREADY, WREADY": (HERE, "test_a_write_is_taken_when_address_and_data_are_there"),
    "BVALID": (HERE, "test_a_write_is_taken_when_address_and_data_are_there"),
    "ARREADY": (HERE, "test_a_read_is_answered_five_cycles_after_its_address"),
    "RVALID": (HERE, "test_a_read_is_answered_five_cycles_after_its_address"),
    "AW and AR channels": (registers, "test_reads_and_writes_at_the_same_time_do_not_disturb_each_other"),
    "RRESP, BRESP": (registers, "test_what_is_not_mapped_answers_slverr_and_changes_nothing"),
    "AxPROT, AxADDR bits 0 and 1": (HERE, "test_a_read_is_answered_five_cycles_after_its_address"),
    "WSTRB": (registers, "test_byte_strobes_write_their_bytes_alone"),
}


@pytest.mark.parametrize(("tests", "rules"), [(OF_MASTER, MASTER), (OF_SLAVE, SLAVE)], ids=["master", "slave"])
def test_every_row_names_its_test(tests: Tests, rules: tuple[tuple[str, str], ...]) -> None:
    assert list(tests) == [signal for signal, _ in rules]
    for module, name in tests.values():
        assert inspect.isfunction(getattr(module, name) if isinstance(module, ModuleType) else globals()[name])


def simulated(dut: AxiPort | LiteEndpoint, script: Callable[[SimulatorContext], Coroutine[Any, Any, None]]) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


@pytest.mark.parametrize(("name", "size"), [("nano", 3), ("base", 4)])
def test_bursts_are_of_whole_beats(name: str, size: int) -> None:
    dut = AxiPort(preset(name))

    async def script(ctx: SimulatorContext) -> None:
        for prefix in ("ar", "aw"):
            assert [ctx.get(getattr(dut.axi, prefix + field)) for field in ("size", "burst", "lock")] == [size, 1, 0]

    simulated(dut, script)


def test_what_is_valid_stays_as_it_is_whatever_its_user_does() -> None:
    dut = AxiPort(NANO)
    users = {"ar": dut.load.ar, "aw": dut.save.aw, "w": dut.save.w}
    parts = {"ar": "addr", "aw": "addr", "w": "data"}

    async def script(ctx: SimulatorContext) -> None:
        for prefix, user in users.items():
            ctx.set(user.valid, 1)
            ctx.set(getattr(user.payload, parts[prefix]), 0x40)
        await ctx.tick()
        for prefix, user in users.items():
            assert ctx.get(getattr(dut.axi, f"{prefix}valid")), "without READY"
            ctx.set(user.valid, 0)
            ctx.set(getattr(user.payload, parts[prefix]), 0x80)
        for _ in range(5):
            await ctx.tick()
            for prefix in users:
                assert ctx.get(getattr(dut.axi, f"{prefix}valid"))
                assert ctx.get(getattr(dut.axi, prefix + parts[prefix])) == 0x40
        for prefix in users:
            ctx.set(getattr(dut.axi, f"{prefix}ready"), 1)
        await ctx.tick()
        assert not any(ctx.get(getattr(dut.axi, f"{prefix}valid")) for prefix in users)

    simulated(dut, script)


@pytest.mark.parametrize("number", [0, 3])
def test_two_responses_are_taken_before_anybody_wants_them(number: int) -> None:
    """Of writes by whatever BID."""
    dut = AxiPort(NANO)

    async def script(ctx: SimulatorContext) -> None:
        for valid in (0, 1):
            for prefix in ("r", "b"):
                ctx.set(getattr(dut.axi, f"{prefix}valid"), valid)
                assert ctx.get(getattr(dut.axi, f"{prefix}ready"))
        ctx.set(dut.axi.bid, number)
        taken = {"r": 0, "b": 0}
        for _ in range(6):
            for prefix in taken:
                taken[prefix] += ctx.get(getattr(dut.axi, f"{prefix}ready"))
            await ctx.tick()
        assert taken == {"r": 2, "b": 2}
        ctx.set(dut.axi.bvalid, 0)
        ctx.set(dut.save.b.ready, 1)
        assert ctx.get(dut.save.b.valid)
        await ctx.tick().repeat(2)
        assert not ctx.get(dut.save.b.valid)

    simulated(dut, script)


@pytest.mark.parametrize("first", ["aw", "w"])
def test_a_write_is_taken_when_address_and_data_are_there(first: str) -> None:
    dut = LiteEndpoint()
    bus = dut.bus

    async def script(ctx: SimulatorContext) -> None:
        second = "w" if first == "aw" else "aw"
        ctx.set(bus.awaddr, 0x10)
        ctx.set(bus.wdata, 5)
        ctx.set(getattr(bus, f"{first}valid"), 1)
        for _ in range(3):
            assert (ctx.get(bus.awready), ctx.get(bus.wready)) == (0, 0)
            await ctx.tick()
        ctx.set(getattr(bus, f"{second}valid"), 1)
        assert (ctx.get(bus.awready), ctx.get(bus.wready)) == (0, 0)
        await ctx.tick()
        assert (ctx.get(bus.awready), ctx.get(bus.wready), ctx.get(bus.bvalid)) == (1, 1, 0)
        for _ in range(4):
            await ctx.tick()
            assert (ctx.get(bus.awready), ctx.get(bus.wready), ctx.get(bus.bvalid)) == (0, 0, 1), "the next one waits"
        ctx.set(bus.bready, 1)
        await ctx.tick()
        assert not ctx.get(bus.bvalid)

    simulated(dut, script)


@pytest.mark.parametrize("protection", [0, 7])
def test_a_read_is_answered_five_cycles_after_its_address(protection: int) -> None:
    dut = LiteEndpoint()
    bus = dut.bus

    async def script(ctx: SimulatorContext) -> None:
        ctx.set(bus.araddr, 0x13)
        ctx.set(bus.arprot, protection)
        assert not ctx.get(bus.arready), "it may still be reset"
        await ctx.tick()
        assert ctx.get(bus.arready)
        ctx.set(bus.arvalid, 1)
        for cycle in range(1, 6):
            await ctx.tick()
            assert not ctx.get(bus.arready)
            assert ctx.get(bus.rvalid) == (cycle == 5)
            assert ctx.get(dut.read_addr) == 0x10
        await ctx.tick().repeat(3)
        assert (ctx.get(bus.rvalid), ctx.get(bus.arready)) == (1, 0), "the next one waits"
        ctx.set(bus.rready, 1)
        ctx.set(bus.arvalid, 0)
        await ctx.tick()
        assert (ctx.get(bus.rvalid), ctx.get(bus.arready)) == (0, 1)

    simulated(dut, script)
