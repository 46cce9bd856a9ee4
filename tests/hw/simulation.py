"""Amaranth's simulator, where a design settles once for all that a testbench sets between two looks at it.

Amaranth's own evaluates the design after every ``set``: most of the time of a bench that drives many ports in a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any

from amaranth import sim
from amaranth.sim._async import ProcessContext

from isa.config import MachineConfig
from tests.hw.clocks import PERIOD, add_clocks

Script = Callable[[Any], Coroutine[Any, Any, None]]


class Simulator(sim.Simulator):
    """With testbenches that see a ``Settling`` context."""

    def add_testbench(self, constructor: Script, *, background: bool = False) -> None:
        async def testbench(ctx: Any) -> None:
            settling = Settling(ctx)
            await Steps(constructor(settling), settling)

        super().add_testbench(testbench, background=background)


class Settling:
    """What a testbench sets is there when it gets a value, and when it waits."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._settled = True

    def set(self, expr: Any, value: Any) -> None:
        ProcessContext.set(self._ctx, expr, value)  # as in a process, after which nothing settles
        self._settled = False

    def get(self, expr: Any) -> Any:
        self.settle()
        return self._ctx.get(expr)

    def settle(self) -> None:
        if not self._settled:
            self._ctx._engine.step_design()
            self._settled = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


class Steps:
    """A testbench from wait to wait."""

    def __init__(self, testbench: Coroutine[Any, Any, None], settling: Settling) -> None:
        self._testbench, self._settling = testbench, settling

    def __await__(self) -> Generator[Any, None, None]:
        ended = False
        while not ended:
            try:
                waits = self._testbench.send(None)
            except StopIteration:
                ended = True
            self._settling.settle()
            if not ended:
                yield waits


class Kept:
    """A design that is elaborated and compiled once, which takes longer than most scripts, and begins anew with each.

    ``config``: of the machine whose clocks it has; one clock without.
    """

    def __init__(self, design: Any, config: MachineConfig | None = None) -> None:
        self._simulator = Simulator(design)
        if config is None:
            self._simulator.add_clock(PERIOD)
        else:
            add_clocks(self._simulator, config)
        self._simulator.add_testbench(self._testbench)
        self._places = 0
        """Of processes."""
        self._script: Script | None = None
        self._processes: tuple[Script, ...] = ()

    def run(self, script: Script, *processes: Script) -> None:
        """Until the script ends, whatever else the processes wait for."""
        if self._script is not None:
            self._simulator.reset()
        self._script, self._processes = script, processes
        while self._places < len(processes):
            self._simulator.add_process(self._process(self._places))
            self._places += 1
        self._simulator.run()

    async def _testbench(self, ctx: Any) -> None:
        assert self._script is not None
        await self._script(ctx)

    def _process(self, place: int) -> Script:
        async def process(ctx: Any) -> None:
            if place < len(self._processes):
                await self._processes[place](ctx)

        return process
