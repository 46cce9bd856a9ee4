"""Levels of logic: against a walk that takes every path there is, and on netlists whose paths are known."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sim.synthesis.cells import is_clock, kind_of, passages
from sim.synthesis.design import split_design
from sim.synthesis.ecp5 import NARROW_BITS
from sim.synthesis.fan_out import wide_nets
from sim.synthesis.graph import build_graph
from sim.synthesis.mapping import Mapped, map_modules
from sim.synthesis.targets import TARGETS
from sim.synthesis.timing import DeepPath, deepest_paths
from sim.synthesis.tools import SynthesisError
from tests.sim.synthesis.designs import VERILOG, yosys

Netlist = dict[str, Any]


def lut(output: int, *inputs: int) -> list[Any]:
    return [f"LUT{len(inputs)}", {}, {f"I{i}": [net] for i, net in enumerate(inputs)}, {"O": [output]}]


def flip_flop(d: int, q: int) -> list[Any]:
    return ["FDRE", {}, {"D": [d], "C": ["0"]}, {"Q": [q]}]


def modules(**netlists: Netlist) -> dict[str, Mapped]:
    found = {}
    for name, netlist in netlists.items():
        found[name] = Mapped(name, Path("none"), {})
        found[name].__dict__["netlist"] = {"netnames": {}, **netlist}
    return found


def random_module(rng: random.Random, children: dict[str, Netlist]) -> Netlist:
    """Three inputs; LUTs, flip-flops and instances of other modules, each fed by what is there already; three outputs."""
    nets = [2, 3, 4]
    cells: dict[str, list[Any]] = {}
    for number in range(rng.randrange(3, 9)):
        new = len(nets) + 2
        kind = rng.choice(["LUT", "LUT", "FF", *children])
        if kind in children:
            inputs = {"i": [rng.choice(nets) for _ in range(3)]}
            cells[f"c{number}"] = [kind, {}, inputs, {"o": [new, new + 1, new + 2]}]
            nets += [new, new + 1, new + 2]
        else:
            cells[f"c{number}"] = lut(new, *rng.sample(nets, 2)) if kind == "LUT" else flip_flop(rng.choice(nets), new)
            nets.append(new)
    ports = {"i": ["input", [2, 3, 4]], "o": ["output", [rng.choice(nets) for _ in range(3)]]}
    return {"ports": ports, "cells": cells}


def all_ways(netlists: dict[str, Netlist], path: list[tuple[str, str, str]], module: str, net: int) -> int:
    """Levels before a net, by trying every way: ``path`` holds module, cell and child of each instance above."""
    for name, (kind, _, inputs, outputs) in netlists[module]["cells"].items():
        for bits in outputs.values():
            if net in bits:
                if kind in netlists:
                    inner = netlists[kind]["ports"]["o"][1][bits.index(net)]
                    return all_ways(netlists, [*path, (module, name, kind)], kind, inner)
                if kind == "FDRE":
                    return 0
                return 1 + max(all_ways(netlists, path, module, bit) for nets in inputs.values() for bit in nets)
    if not path:
        return 0
    (above, name, _), index = path[-1], netlists[module]["ports"]["i"][1].index(net)
    return all_ways(netlists, path[:-1], above, netlists[above]["cells"][name][2]["i"][index])


def deepest_by_all_ways(netlists: dict[str, Netlist], path: list[tuple[str, str, str]], module: str) -> int:
    """The deepest input of a flip-flop in an instance and below it, and the deepest output of the machine."""
    found = [0] if path else [all_ways(netlists, path, module, bit) for bit in netlists[module]["ports"]["o"][1]]
    for name, (kind, _, inputs, _) in netlists[module]["cells"].items():
        if kind in netlists:
            found.append(deepest_by_all_ways(netlists, [*path, (module, name, kind)], kind))
        elif kind == "FDRE":
            found.append(all_ways(netlists, path, module, inputs["D"][0]))
    return max(found)


def test_the_deepest_of_random_machines() -> None:
    rng = random.Random(5)
    deepest = set()
    for _ in range(300):
        netlists: dict[str, Netlist] = {"leaf": random_module(rng, {})}
        netlists["middle"] = random_module(rng, {**netlists})
        netlists["top"] = random_module(rng, {**netlists})
        paths = deepest_paths(modules(**netlists), "top", {})
        expected = deepest_by_all_ways(netlists, [], "top")
        assert (paths[0].levels if paths else 0) == expected
        assert all(path.cells.count("LUT") <= path.levels for path in paths)
        deepest.add(expected)
    assert len(deepest) > 5


ADDER = """\
module top(clk, a, b, c, q);
  input clk;
  input [TOP:0] a;
  input [TOP:0] b;
  input c;
  output [TOP:0] q;
  reg [TOP:0] q;
  reg [TOP:0] sum;
  always @(posedge clk) begin
    sum <= a + b;
    q <= (sum + {sum[0], sum[TOP:1]}) ^ {sum[0], {(TOP){c}}};
  end
endmodule
"""


def adder(target: str, width: int, tmp_path: Path) -> DeepPath:
    design = split_design(ADDER.replace("TOP", str(width - 1)))
    mapped = map_modules(design, TARGETS[target], yosys(), report=lambda line: None, cache=tmp_path)
    return deepest_paths(mapped, "top", {"sum": "here.v:7"})[0]


def test_an_ecp5_has_narrow_sums_in_luts(tmp_path: Path) -> None:
    chained = {width: "carry" in adder("ecp5", width, tmp_path).cells for width in (4, NARROW_BITS, NARROW_BITS + 1)}
    assert chained == {4: False, NARROW_BITS: False, NARROW_BITS + 1: True}


@pytest.mark.parametrize(
    ("target", "levels", "cells", "widths"),
    [("xcup", 3, "FF LUT carry LUT FF", (48,)), ("ecp5", 2, "FF carry LUT FF", (NARROW_BITS + 1, 48))],
)
def test_a_carry_chain_counts_once_however_long_it_is(
    target: str, levels: int, cells: str, widths: tuple[int, ...], tmp_path: Path
) -> None:
    for width in widths:
        path = adder(target, width, tmp_path)
        assert (path.levels, path.cells, path.begin.signal, path.end.signal) == (levels, cells, "sum", "q")
        assert path.begin.source == "here.v:7"


def test_paths_go_through_modules(synthesised: Path) -> None:
    design = split_design(VERILOG)
    mapped = map_modules(design, TARGETS["xcup"], yosys(), report=lambda line: None, cache=synthesised)
    paths = deepest_paths(mapped, "top", {})
    (register,) = [path for path in paths if path.end.signal == "second.leaf.q"]
    assert (register.begin.signal, register.cells) == ("first.q", "FF 2 LUT carry FF"), "AND outside, sum inside"
    assert register.through == ("first", "top", "second.leaf")
    assert register.ends == 16, "two times eight flip-flops"


def test_the_fan_out_of_random_machines() -> None:
    """Against a count by walking from every pin of a cell to what drives it."""
    rng = random.Random(6)
    seen = set()
    for _ in range(200):
        netlists: dict[str, Netlist] = {"leaf": random_module(rng, {})}
        netlists["middle"] = random_module(rng, {**netlists})
        netlists["top"] = random_module(rng, {**netlists})
        expected = sorted(drivers_by_walking(netlists).values(), reverse=True)
        for most in (0, 2):
            wide = wide_nets(modules(**netlists), "top", {}, most=most)
            assert [net.pins for net in wide] == [pins for pins in expected if pins > most]
        seen.update(expected)
    assert len(seen) > 4


def drivers_by_walking(netlists: dict[str, Netlist]) -> Counter[tuple[str, ...]]:
    """How many pins each driver has: an input of the machine, or a cell by its path."""
    found: Counter[tuple[str, ...]] = Counter()

    def driver(path: list[tuple[str, str]], module: str, net: int) -> tuple[str, ...]:
        """``path`` holds module and cell of each instance above."""
        for name, (kind, _, _, outputs) in netlists[module]["cells"].items():
            for bits in outputs.values():
                if net in bits and kind in netlists:
                    inner = netlists[kind]["ports"]["o"][1][bits.index(net)]
                    return driver([*path, (module, name)], kind, inner)
                if net in bits:
                    return (*(cell for _, cell in path), name)
        if not path:
            return ("input", str(net))
        (above, name), index = path[-1], netlists[module]["ports"]["i"][1].index(net)
        return driver(path[:-1], above, netlists[above]["cells"][name][2]["i"][index])

    def walk(path: list[tuple[str, str]], module: str) -> None:
        for name, (kind, _, inputs, _) in netlists[module]["cells"].items():
            if kind in netlists:
                walk([*path, (module, name)], kind)
            else:
                pins = [bit for pin, bits in inputs.items() for bit in bits if isinstance(bit, int) and pin != "C"]
                found.update(driver(path, module, bit) for bit in pins)

    walk([], "top")
    return found


def test_pins_for_clocks_do_not_count() -> None:
    ports = {"i": ["input", [2, 3]], "o": ["output", [10]]}
    flip_flops = {f"ff{n}": ["FDRE", {}, {"D": [2], "C": [3], "CE": [2]}, {"Q": [10 + n]}] for n in range(5)}
    (net,) = wide_nets(modules(top={"ports": ports, "cells": flip_flops}), "top", {}, most=4)
    assert (net.pins, net.driver.signal, net.into) == (10, "i", "5 FF D, 5 FF CE")


@pytest.mark.parametrize(("shown", "wide"), [("0", 0), (3, 1)])
def test_constants_do_not_count(shown: int | str, wide: int) -> None:
    """A constant at a port is no net of the module that shows it."""
    flip_flops = {f"ff{n}": ["FDRE", {}, {"D": [2], "C": [4]}, {"Q": [10 + n]}] for n in range(5)}
    inner = {"ports": {"i": ["input", [2]], "c": ["input", [4]]}, "cells": flip_flops}
    ports = {"i": ["input", [3]], "clk": ["input", [5]]}
    top = {"ports": ports, "cells": {"inner": ["inner", {}, {"i": [shown], "c": [5]}, {}]}}
    assert len(wide_nets(modules(top=top, inner=inner), "top", {}, most=4)) == wide


@pytest.mark.parametrize(
    ("cell", "pin", "clock"),
    [
        ("FDSE", "C", True), ("DSP48E2", "C", False), ("DSP48E2", "CLK", True), ("RAMB36E2", "CLKARDCLK", True),
        ("RAM64M8", "WCLK", True), ("TRELLIS_DPR16X4", "WCK", True), ("MULT18X18D", "CLK0", True), ("LUT4", "C", False),
        ("FDRE", "CE", False), ("TRELLIS_FF", "CLK", True),
    ],
)  # fmt: skip
def test_which_pins_are_for_clocks(cell: str, pin: str, clock: bool) -> None:
    assert is_clock(cell, pin) == clock


def test_a_loop_is_named() -> None:
    ports = {"i": ["input", [2]], "o": ["output", [4]]}
    netlist = {"ports": ports, "cells": {"left": lut(3, 2, 4), "right": lut(4, 3)}}
    with pytest.raises(SynthesisError, match=r"a combinational loop through 2 nets, among them : (left|right)"):
        build_graph(modules(top=netlist), "top").depths()


def test_a_cell_that_nobody_knows_is_refused() -> None:
    with pytest.raises(SynthesisError, match=r"cell URAM576: expected one that sim/synthesis/cells\.py knows"):
        kind_of("URAM576")


PINS = {"A": [10, 11], "B": [12], "C": [13], "PCIN": [14], "CLK": [15], "CEA2": [16], "ACIN": [17]}
NONE = dict.fromkeys(("AREG", "BREG", "CREG", "MREG", "PREG", "ACASCREG"), "00")


@pytest.mark.parametrize(
    ("registers", "expected"),
    [
        ({}, {10, 11, 12, 13, 14, 17}),
        ({"AREG": "01"}, {12, 13, 14}),
        ({"MREG": "1"}, {13, 14}),
        ({"PREG": "1"}, set()),
        ({"CREG": "1", "BREG": "10"}, {10, 11, 14, 17}),
    ],
)
def test_registers_of_a_dsp_part_it(registers: dict[str, str], expected: set[int]) -> None:
    (reached,) = passages("DSP48E2", NONE | registers, PINS, {"P": [50]})
    assert (reached[0], set(reached[1])) == (50, expected)


def test_a_cascade_starts_behind_its_own_register() -> None:
    assert dict(passages("DSP48E2", NONE, PINS, {"ACOUT": [50]})) == {50: [10, 11, 17]}
    assert dict(passages("DSP48E2", NONE | {"ACASCREG": "1"}, PINS, {"ACOUT": [50]})) == {50: []}


def test_a_multiplier_of_ecp5_is_logic_unless_a_clock_is_named() -> None:
    pins = {"A0": [10], "B0": [11], "CLK0": [12], "SIGNEDA": [13]}
    assert dict(passages("MULT18X18D", {}, pins, {"P0": [50]})) == {50: [10, 11, 13]}
    assert dict(passages("MULT18X18D", {"REG_INPUTA_CLK": "CLK0"}, pins, {"P0": [50]})) == {50: [11, 13]}
    assert dict(passages("MULT18X18D", {"REG_OUTPUT_CLK": "CLK0"}, pins, {"P0": [50]})) == {50: []}


@pytest.mark.parametrize(
    ("cell", "inputs", "output", "expected"),
    [
        ("RAM64M8", {"ADDRA": [10], "ADDRB": [11], "DIA": [12], "WE": [13]}, "DOB", [11]),
        ("RAM32X1D", {"A0": [10], "DPRA0": [11], "D": [12]}, "DPO", [11]),
        ("RAM32X1D", {"A0": [10], "DPRA0": [11], "D": [12]}, "SPO", [10]),
        ("SRLC32E", {"A": [10], "D": [12], "CE": [13]}, "Q", [10]),
        ("SRLC32E", {"A": [10], "D": [12], "CE": [13]}, "Q31", []),
        ("TRELLIS_DPR16X4", {"RAD": [10], "WAD": [11], "DI": [12]}, "DO", [10]),
        ("RAMB36E2", {"ADDRARDADDR": [10]}, "DOUTADOUT", []),
        ("CARRY4", {"CI": [10], "S": [11, 12], "DI": [13, 14]}, "CO", [10, 11, 13]),
    ],
)
def test_what_reaches_an_output(cell: str, inputs: dict[str, list[int | str]], output: str, expected: list[int]) -> None:
    assert dict(passages(cell, {}, inputs, {output: [50]})) == {50: expected}
