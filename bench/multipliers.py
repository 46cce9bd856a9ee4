"""What a product costs in LUTs of an ECP5: ``python -m bench.multipliers``, for docs/decisions/few-multipliers.md.

Products of nano without a multiplier, and two of bytes that share one (``hw/arithmetic/joined.py``), each with its registers;
yosys as ``tilewright size --target ecp5`` runs it, but for ``-nodsp``.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from amaranth import Module, Signal, signed
from amaranth.back import verilog

from bench.command import command
from hw.arithmetic.joined import join, joined_products
from hw.conv.tree import register
from sim.synthesis.design import split_design
from sim.synthesis.mapping import map_modules
from sim.synthesis.targets import TARGETS
from sim.synthesis.tools import find_tool

WIDTHS = ((8, 8), (8, 9), (9, 9), (18, 9), (34, 8))


def product(a: int, b: int) -> tuple[Module, list[Signal]]:
    """A circuit of one product of signed numbers between registers, and its ports."""
    m = Module()
    x, y, p = Signal(signed(a), name="x"), Signal(signed(b), name="y"), Signal(signed(a + b), name="p")
    m.d.comb += p.eq(register(m, register(m, x, "x_kept") * register(m, y, "y_kept"), "product"))
    return m, [x, y, p]


def joined() -> tuple[Module, list[Signal]]:
    """A circuit of two products that share a multiplier and a factor, and its ports."""
    m = Module()
    high, low, shared = (Signal(signed(8), name=name) for name in ("high", "low", "shared"))
    results = [Signal(signed(16), name=name) for name in ("p", "q")]
    factors = register(m, join(high, low), "joined"), register(m, shared, "shared_kept")
    found = joined_products(*factors, lambda value, name: register(m, value, name), "0")
    m.d.sync += [to.eq(value) for to, value in zip(results, found, strict=True)]
    return m, [high, low, shared, *results]


def used(design: tuple[Module, list[Signal]], *, multipliers: bool) -> dict[str, float]:
    """The resources of a circuit on an ECP5."""
    module, ports = design
    target = TARGETS["ecp5"]
    if not multipliers:
        target = replace(target, to_gates=target.to_gates.replace("synth_ecp5", "synth_ecp5 -nodsp"))
    text = split_design(verilog.convert(module, ports=ports, name="top", emit_src=False))
    return target.used(map_modules(text, target, find_tool("yosys"), report=lambda line: None)["top"].cells)


def main(arguments: list[str]) -> None:
    command("multipliers", __doc__).parse_args(arguments)
    print(f"what ({find_tool('yosys').version}) | LUT4 | multipliers")
    for a, b in WIDTHS:
        found = used(product(a, b), multipliers=False)
        print(f"{a} x {b} | {found['LUT']:.0f} | {found['DSP']:.0f}")
    found = used(joined(), multipliers=True)
    print(f"two of 8 x 8, joined | {found['LUT']:.0f} | {found['DSP']:.0f}")


if __name__ == "__main__":
    main(sys.argv[1:])
