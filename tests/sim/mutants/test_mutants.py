"""Mutants: the list is read as yosys writes it, the control becomes a switch of the machine, and stages are not repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.mutants import rows
from sim.mutants.hunt import STAGES, read_record, survivors
from sim.mutants.netlist import CONTROL, TOP, Mutant, mutants_of, switched
from sim.synthesis.tools import SynthesisError

LIST = (
    f"mutate -ctrl {CONTROL} 3 1 -mode const0 -module tilewright_core_conv_write -cell $procmux$21 -port Y -portbit 25 "
    "-src core.v:11.18-11.30\n"
    f"mutate -ctrl {CONTROL} 3 2 -mode cnot0 -module tilewright_core -cell walk -port i__payload$36 -portbit 4 -ctrlbit 3 "
    "-wire \\$36 -wirebit 0\n"
)
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
    first, second = mutants_of(LIST)
    assert first == Mutant(1, "const0", "tilewright_core_conv_write", "$procmux$21", "Y", 25, "11.18-11.30")
    assert (first.unit, second.unit) == ("conv", "core")
    assert str(second) == "cnot0 tilewright_core.walk.i__payload$36[4] (line )"


def test_the_machine_reads_its_mutant_and_keeps_its_ports() -> None:
    text = switched(VERILOG)
    assert f"module {TOP}(clk, irq);" in text
    assert f'  reg [2:0] {CONTROL};\n  initial if (!$value$plusargs("mutant=%d", {CONTROL})) {CONTROL} = 0;\n' in text
    assert text.count(f"input [2:0] {CONTROL}") == 1, "parts are told by the machine"


def test_a_netlist_without_mutants_is_refused() -> None:
    with pytest.raises(SynthesisError, match="none of the mutants is in the machine"):
        switched(VERILOG.replace(CONTROL, "another"))


class Stages:
    """Three mutants: the first is found by programs, the second by cycles, the third by nothing."""

    def __init__(self) -> None:
        self.mutants: list[Mutant] = [Mutant(n, "inv", "tilewright_core_pool", "cell", "A", 0, "") for n in (1, 2, 3)]
        self.asked: list[tuple[str, int]] = []

    def stage(self, name: str, mutant: Mutant) -> str | None:
        self.asked.append((name, mutant.number))
        return "found" if (name, mutant.number) in (("programs", 1), ("cycles", 2)) else None


def test_a_mutant_goes_through_the_stages_until_one_finds_it_and_a_record_goes_on(tmp_path: Path) -> None:
    record = tmp_path / "build" / "record.jsonl"
    hunt = Stages()
    steps = survivors(hunt, record)
    for _ in range(4):
        next(steps)
    steps.close()
    again = Stages()
    list(survivors(again, record))
    assert hunt.asked == [("programs", 1), ("programs", 2), ("programs", 3), ("benches", 2)]
    assert again.asked == [("benches", 3), ("cycles", 2), ("cycles", 3)]
    counts = rows(hunt.mutants, read_record(record))
    assert counts["pool"] == counts["all"] == {"mutants": 3, "programs": 1, "cycles": 1, "survive": 1}
    assert set(STAGES) == {"programs", "benches", "cycles"}
