"""Mutants: the list is read as yosys writes it, the control becomes a switch of the machine, and stages are not repeated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.mutants import COLUMNS, SURVIVES, counted, row_of
from isa.config import preset
from sim.mutants.equivalent import proved_equivalent
from sim.mutants.hunt import STAGES, met
from sim.mutants.netlist import CONTROL, TOP, Mutant, kept, mutants_of, possible, switched
from sim.synthesis.tools import SynthesisError, find_tool

LIST = (
    f"mutate -ctrl {CONTROL} 3 1 -mode const0 -module {TOP} -cell $procmux$21 -port Y -portbit 25 -src core.v:2.1-2.8 "
    "-src core.v:6.18-6.30\n"
    f"mutate -ctrl {CONTROL} 3 2 -mode cnot0 -module {TOP} -cell walk -port i__payload$36 -portbit 4 -ctrlbit 3 "
    "-wire \\$36 -wirebit 0\n"
)
CORE = f"""\
module {TOP}(clk);
  {TOP}_conv_write write (.clk(clk));
endmodule

module {TOP}_conv_write(clk);
  assign y = clk;
endmodule
"""
VERILOG = f"""\
module {TOP}(clk, {CONTROL}, irq);
  input clk;
  input [2:0] {CONTROL};
  wire [2:0] {CONTROL};
  output irq;
  part part (.{CONTROL}({CONTROL}));
endmodule
module part({CONTROL});
  input [2:0] {CONTROL};
  wire [2:0] {CONTROL};
endmodule
"""


def test_the_list_of_yosys_is_read() -> None:
    """What is in a part bears the line of its instance, too; what bears none is the core's."""
    first, second = mutants_of(LIST, CORE)
    source = f"{TOP}_conv_write, line 6"
    assert first == Mutant(1, "const0", "conv", TOP, "$procmux$21", "Y", 25, source)
    assert second.unit == "core"
    assert str(first) == f"const0 $procmux$21.Y[25] ({source})"


def test_mutants_of_chosen_modules_bear_their_names() -> None:
    both = mutants_of(LIST, CORE)
    assert kept(both, []) == both
    (chosen,) = kept(both, ["row", "conv_write"])
    assert (chosen.number, chosen.unit) == (1, "conv_write")


def test_what_reads_without_a_clock_has_no_enable_to_be_changed() -> None:
    enable = f"mutate -ctrl {CONTROL} 3 3 -mode inv -module memory_2x22_async -cell words -port RD_EN -portbit 0\n"
    address = enable.replace("RD_EN", "RD_ADDR").replace(" 3 3 ", " 3 4 ")
    assert possible(LIST + enable + address) == LIST + address
    assert [mutant.number for mutant in mutants_of(possible(LIST + enable + address), CORE)] == [1, 2, 4]


def test_the_machine_reads_its_mutant_and_keeps_its_ports() -> None:
    text = switched(VERILOG)
    assert f"module {TOP}(clk, irq);" in text
    assert f'  reg [2:0] {CONTROL};\n  initial if (!$value$plusargs("mutant=%d", {CONTROL})) {CONTROL} = 0;\n' in text
    assert text.count(f"input [2:0] {CONTROL}") == 1, "parts are told by the machine"


def test_a_netlist_without_mutants_is_refused() -> None:
    with pytest.raises(SynthesisError, match="none of the mutants is in the machine"):
        switched(VERILOG.replace(CONTROL, "another"))


class Stages:
    """The first mutant is found by programs, the second by cycles, the third by nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def stage(self, name: str, mutant: Mutant) -> str | None:
        self.asked.append((name, mutant.number))
        return "found" if (name, mutant.number) in (("programs", 1), ("cycles", 2)) else None


def test_a_mutant_goes_through_the_stages_until_one_finds_it() -> None:
    mutants = [Mutant(n, "inv", "pool", TOP, "cell", "A", 0, "") for n in (1, 2, 3)]
    stages = Stages()
    found = [met(stages, mutant) for mutant in mutants]
    assert found == [("programs", "found"), ("cycles", "found"), None]
    assert stages.asked == [("programs", 1), ("programs", 2), ("cycles", 2), *((stage, 3) for stage in STAGES)]
    counts = counted(zip(mutants, (how[0] if how else SURVIVES for how in found), strict=True))
    assert counts["pool"] == counts["all"] == {"mutants": 3, "programs": 1, "cycles": 1, SURVIVES: 1}
    row = dict(zip(COLUMNS, row_of(preset("nano"), "pool", counts["pool"]), strict=True))
    assert (row["programs"], row["survive"], row["killed of the unequal"]) == ("1", "1", "67 %")


PART = f"""\
module {TOP}_part(input clk, input rst, input [3:0] a, output reg [3:0] sum, output [1:0] shown, output half);
  reg [3:0] old, kept;
  {TOP}_inner inner(.i(a), .o(shown));
  assign half = kept[1];
  always @(posedge clk) begin
    old <= rst ? 4'd0 : a;
    sum <= rst ? 4'd0 : old + (a & {{1'b0, a[0], a[1], a[2]}});
    if (a[0]) kept <= a ^ 4'd9;
  end
endmodule
module {TOP}_inner(input [3:0] i, output [1:0] o);
  assign o = i[3:2];
endmodule
module {TOP}(input clk, input rst, input [3:0] a, output [3:0] sum, output [1:0] shown, output half);
  {TOP}_part part(.clk(clk), .rst(rst), .a(a), .sum(sum), .shown(shown), .half(half));
endmodule
"""


@pytest.mark.parametrize(
    ("kind", "mode", "port", "bit", "equal"),
    [("and", "const0", "B", 3, True), ("and", "const1", "B", 3, False), ("and", "inv", "A", 0, False),
     ("dffe", "const0", "D", 3, True), ("dffe", "inv", "Q", 3, True), ("dffe", "const0", "D", 1, False),
     ("dffe", "inv", "Q", 1, False), ("dffe", "const0", "EN", 0, False), ("dffe", "const0", "CLK", 0, False),
     (f"{TOP}_inner", "const0", "o", 1, False)],
)  # fmt: skip
def test_a_mutant_that_changes_nothing_is_proved_to(
    kind: str, mode: str, port: str, bit: int, equal: bool, tmp_path: Path
) -> None:
    """Of the sum's operands, one bit never is one; of what is kept, one bit is read; registers and the module inside are
    taken as they are."""
    (tmp_path / "part.v").write_text(PART)
    script = (
        f"read_verilog -sv part.v; hierarchy -top {TOP}; proc; opt_clean; opt_dff; "
        "rename -enumerate -pattern register_% t:$*dff*; write_rtlil part.il"
    )
    find_tool("yosys").run(["-q", "-p", script], tmp_path)
    netlist = (tmp_path / "part.il").read_text()
    cell = re.findall(rf"cell [$\\]{kind} (\S+)", netlist)[0]
    options = f"-mode {mode} -module {TOP}_part -cell {cell} -port {port} -portbit {bit}"
    mutant = Mutant(1, mode, "part", f"{TOP}_part", cell, port, bit, "", options)
    assert proved_equivalent(tmp_path / "part.il", mutant) is equal
