"""Nothing depends on what registers and memories hold at first, nor on reading a word while it is written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hw.delivery.files import arrange
from hw.delivery.modules import split_modules
from hw.delivery.style import MODULE, Style
from isa.config import preset
from isa.instructions import Unit
from sim.random.engines import rtl, wrong_on_rtl
from sim.random.program import random_program
from sim.rtl.build import core_verilog
from sim.rtl.garbage import garbled
from sim.rtl.machine import RtlMachine
from sim.rtl.scenario import token, whole
from sim.rtl.tools import SimulatorError

NANO = preset("nano")
WIDE = replace(
    NANO, name="wide", ic_p=3, oc_p=8, px_p=2, conv_finish=8, fm_banks=8, shared_finish=False, requant="shift"
)  # fmt: skip
MEMORY = """\
module memory_4x40 (clk, write_en, write_addr, write_data, read_en, read_addr, read_data);
  input clk;
  input [0:0] write_en;
  input [39:0] write_data;
  reg [39:0] words [0:3];
  integer i;
  initial for (i = 0; i < 4; i = i + 1) words[i] = 40'd0;
  always @(posedge clk) begin
    if (write_en[0]) words[write_addr] <= write_data;
  end
  reg [39:0] read_data;
  initial read_data = 40'd0;
  always @(posedge clk) if (read_en) read_data <= words[read_addr];
endmodule
"""


def test_initial_values_and_promises_of_memories_are_taken_away() -> None:
    text = garbled(f"module m;\n  reg [7:0] count = 8'h00;\n  reg \\odd.name  = 1'h1;\nendmodule\n{MEMORY}")
    assert "  reg [7:0] count;\n  reg \\odd.name ;\n" in text
    assert "initial" not in text
    assert "read_data <= |write_en && write_addr == read_addr ? {2{$urandom}} : words[read_addr];" in text


def test_it_is_for_verilator() -> None:
    with pytest.raises(SimulatorError, match="are for verilator; choose that"):
        RtlMachine(NANO, "icarus", garbage=True)


@pytest.fixture(scope="module")
def delivered() -> RtlMachine:
    """The machine as an ASIC flow takes it, instantiated from its template, under the name that the bench knows."""
    style = Style("npu", active_low=True, initial=False, split_memories=True)
    emitted = core_verilog(NANO)
    files = arrange(emitted, NANO, style)
    _, modules = split_modules(emitted)
    outside = next(module for module in modules if module.name == MODULE)
    body = f"  wire aresetn = ~rst;\n{files['npu_template.vh']}"
    body += "".join(f"  assign {port.name} = npu_i.{port.name};\n" for port in outside.ports if port.name.startswith("trace_"))
    sources = (files["npu.sv"], files["npu_memories.sv"], replace(outside, body=body).text)
    return RtlMachine(NANO, verilog="\n".join(sources), garbage=True, brief=True)


@pytest.fixture(params=["delivered", "wide"])
def machine(request: pytest.FixtureRequest) -> RtlMachine:
    if request.param == "wide":
        return RtlMachine(WIDE, garbage=True, brief=True)
    found: RtlMachine = request.getfixturevalue("delivered")
    return found


@pytest.mark.slow
def test_random_programs_find_no_difference(machine: RtlMachine) -> None:
    engine = rtl(machine, stalls=True)
    for seed in range(40):
        program = random_program(machine.config, seed)
        assert wrong_on_rtl(program, engine(program)) is None, seed


@pytest.mark.slow
def test_a_word_that_was_never_written_is_anything(delivered: RtlMachine) -> None:
    """So that the test above would see a machine that relies on cleared memories."""
    machine = delivered
    save = token(Unit.SAVE)
    words = whole(NANO, replace(save, values={**save.values, "run": 4, "step": 4, "pixels": 60, "s_xs": 1}))
    saved = [machine.run(words, np.zeros(1 << 12, np.uint8), {}).memory.tobytes() for _ in range(2)]
    assert any(saved[0])
    assert saved[0] != saved[1]
