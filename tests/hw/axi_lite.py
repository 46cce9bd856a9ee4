"""The host's side of an AXI4-Lite port, one access at a time; ``cycle`` lets one pass."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

Cycle = Callable[[], Awaitable[Any]]


async def write_register(ctx: Any, bus: Any, offset: int, value: int, cycle: Cycle) -> int:
    """Write all four bytes; returns the response."""
    ctx.set(bus.awaddr, offset)
    ctx.set(bus.awvalid, 1)
    ctx.set(bus.wdata, value)
    ctx.set(bus.wstrb, 0xF)
    ctx.set(bus.wvalid, 1)
    ctx.set(bus.bready, 1)
    while not ctx.get(bus.awready & bus.wready):
        await cycle()
    await cycle()
    ctx.set(bus.awvalid, 0)
    ctx.set(bus.wvalid, 0)
    while not ctx.get(bus.bvalid):
        await cycle()
    response: int = ctx.get(bus.bresp)
    await cycle()
    return response


async def read_register(ctx: Any, bus: Any, offset: int, cycle: Cycle) -> int:
    ctx.set(bus.araddr, offset)
    ctx.set(bus.arvalid, 1)
    ctx.set(bus.rready, 1)
    while not ctx.get(bus.arready):
        await cycle()
    await cycle()
    ctx.set(bus.arvalid, 0)
    while not ctx.get(bus.rvalid):
        await cycle()
    value: int = ctx.get(bus.rdata)
    await cycle()
    return value
