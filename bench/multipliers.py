"""What a product costs in LUTs of an ECP5: ``python -m bench.multipliers``, for docs/decisions/few-multipliers.md.

Products of nano without a multiplier, and two of bytes that share one (``hw/arithmetic/joined.py``), each with its registers;
yosys as ``tilewright size --target ecp5`` runs it, but for ``-nodsp``.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from amaranth import Elaboratable, Module, Signal, signed
from amaranth.back import verilog

from hw.arithmetic.joined import join, joined_products
from hw.conv.tree import register
from sim.rtl.interrupts import temporary_folder
from sim.synthesis.targets import TARGETS
from sim.synthesis.tools import find_tool

WIDTHS = ((8, 8), (8, 9), (9, 9), (18, 9), (34, 8))


class Product(Elaboratable):
    """One product of signed numbers between registers."""

    def __init__(self, a: int, b: int) -> None:
        self.a, self.b, self.p = Signal(signed(a)), Signal(signed(b)), Signal(signed(a + b))
        self.ports = [self.a, self.b, self.p]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.p.eq(register(m, register(m, self.a, "x") * register(m, self.b, "y"), "product"))
        return m


class Joined(Elaboratable):
    """Two products that share a multiplier and a factor."""

    def __init__(self) -> None:
        self.high, self.low, self.shared = (Signal(signed(8), name=name) for name in ("high", "low", "shared"))
        self.p, self.q = Signal(signed(16)), Signal(signed(16))
        self.ports = [self.high, self.low, self.shared, self.p, self.q]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        joined = register(m, join(self.high, self.low), "joined")
        found = joined_products(joined, register(m, self.shared, "x"), lambda value, name: register(m, value, name), "0")
        m.d.sync += [to.eq(value) for to, value in zip((self.p, self.q), found, strict=True)]
        return m


def used(design: Any, *, multipliers: bool) -> dict[str, float]:
    """Its resources on an ECP5."""
    target, yosys = TARGETS["ecp5"], find_tool("yosys")
    script = target.script.format(top="top")
    script = script if multipliers else script.replace("synth_ecp5", "synth_ecp5 -nodsp")
    with temporary_folder() as work:
        (work / "top.v").write_text(verilog.convert(design, ports=design.ports, name="top", emit_src=False))
        yosys.run(["-q", "-p", f"read_verilog top.v; {script}; tee -o stat.txt stat"], work)
        lines = [line.split() for line in (work / "stat.txt").read_text().splitlines()]
    names = {name for cells in target.resources.values() for name in cells}
    cells: Counter[str] = Counter()
    for line in lines:
        name = next((word for word in line if word in names), None)
        if name is not None:
            cells[name] += int(next(word for word in line if word.isdecimal()))
    return target.used(cells)


def main() -> None:
    print(f"what ({find_tool('yosys').version}) | LUT4 | multipliers")
    for a, b in WIDTHS:
        found = used(Product(a, b), multipliers=False)
        print(f"{a} x {b} | {found['LUT']:.0f} | {found['DSP']:.0f}")
    found = used(Joined(), multipliers=True)
    print(f"two of 8 x 8, joined | {found['LUT']:.0f} | {found['DSP']:.0f}")


if __name__ == "__main__":
    main()
