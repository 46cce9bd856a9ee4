"""A machine of the front on its Verilog: the cycles and outputs of each network, and the size by synthesis, beside
estimates."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.search.progress import Progress
from sim.runtime.run import run_on_cpu
from sim.synthesis.levels import levels_of
from sim.synthesis.size import size_of
from sim.synthesis.targets import TARGETS
from tilewright.comparison import compare
from tilewright.exploring.evaluate import compiled_for
from tilewright.exploring.point import Point
from tilewright.inputs import random_inputs
from tilewright.running import estimated_cycles, run_program


@dataclass(frozen=True)
class Proof:
    """The estimates of a machine beside its measurements."""

    name: str
    estimated_cycles: dict[str, int]
    """The cycles of each network by the cycle model."""
    measured_cycles: dict[str, int]
    """The cycles of each network on the RTL."""
    differ: int
    """The elements of outputs that differ from onnxruntime's."""
    estimated_luts: float
    measured_luts: float
    levels: int
    """The levels of logic of the deepest path, or 0 if nothing was synthesised."""

    @property
    def cycle_error(self) -> float:
        """The greatest error of the cycles of a network."""
        return max(abs(self.estimated_cycles[n] / measured - 1) for n, measured in self.measured_cycles.items())

    @property
    def lut_error(self) -> float:
        return self.estimated_luts / self.measured_luts - 1

    def __str__(self) -> str:
        cycles = ", ".join(f"{name} {count:,} ({self.estimated_cycles[name] / count - 1:+.2%})"
                           for name, count in self.measured_cycles.items())  # fmt: skip
        luts = f"{self.measured_luts:,.0f} LUT ({self.lut_error:+.1%})"
        depth = f", {self.levels} levels of logic" if self.levels else ""
        return f"{self.name} on RTL, in brackets the estimate's error: {cycles}; {self.differ} elements differ; {luts}{depth}"


def proved(point: Point, family: str, told: Progress, *, synthesise: bool = True) -> Proof:
    """Compiles with the point's effort and runs on the RTL with random inputs; then synthesises one core."""
    estimated, measured, differ = {}, {}, 0
    for net in point.workload.nets:
        told(f"{point.name}: compile {net.name}")
        program = compiled_for(str(net.path), point.config, point.effort).program
        inputs = random_inputs(program)
        result = run_program(program, inputs, "rtl", progress=told)
        differ += sum(row.differ for row in compare(result.outputs, run_on_cpu(program, inputs)))
        estimated[net.name], measured[net.name] = estimated_cycles(program), result.measured.counted_cycles
    luts = point.luts / point.config.chip_cores
    told(f"{point.name}: synthesis")
    size, levels = luts, 0
    if synthesise:
        size = size_of(point.config, TARGETS[family], report=told).total["LUT"]
        levels = levels_of(point.config, TARGETS[family], report=told)
    return Proof(point.name, estimated, measured, differ, round(luts), round(size), levels)
