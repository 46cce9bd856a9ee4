"""Drives one component's streams from lists, with random pauses, and collects what comes out."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tests.hw.simulation import Simulator


def run_streams(
    dut: Any,
    inputs: Sequence[tuple[Any, Sequence[Mapping[str, int]]]],
    output: Any,
    fields: Sequence[str],
    count: int,
    *,
    pause: float = 0.0,
    limit: int = 2000,
) -> tuple[list[dict[str, int]], list[int]]:
    """Offers each input its items; the first ``count`` items of ``output`` and the cycles they came in."""
    chance = random.Random(3)
    got: list[dict[str, int]] = []
    cycles: list[int] = []

    async def drive(ctx: Any) -> None:
        waiting = [list(items) for _, items in inputs]
        for n, (stream, _) in enumerate(inputs):
            _offer(ctx, stream, waiting[n], pause, chance)
        ctx.set(output.ready, 1)
        watched = [signal for stream, _ in inputs for signal in (stream.valid, stream.ready)]
        parts = [getattr(output.payload, name) for name in fields]
        cycle = 0
        async for _, _, valid, ready, *values in ctx.tick().sample(output.valid, output.ready, *parts, *watched):
            assert cycle < limit, f"{len(got)} of {count} items came out"
            if valid and ready:
                got.append(dict(zip(fields, values[: len(fields)], strict=True)))
                cycles.append(cycle)
            for n, (stream, _) in enumerate(inputs):
                offered, taken = values[len(fields) + 2 * n : len(fields) + 2 * n + 2]
                if offered and taken:
                    waiting[n].pop(0)
                if taken or not offered:
                    _offer(ctx, stream, waiting[n], pause, chance)
            ctx.set(output.ready, int(chance.random() >= pause))
            cycle += 1
            if len(got) == count:
                break

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(drive)
    simulator.run()
    return got, cycles


def _offer(ctx: Any, stream: Any, items: list[Mapping[str, int]], pause: float, chance: random.Random) -> None:
    valid = bool(items) and chance.random() >= pause
    ctx.set(stream.valid, valid)
    if valid:
        for name, value in items[0].items():
            ctx.set(getattr(stream.payload, name), value)
