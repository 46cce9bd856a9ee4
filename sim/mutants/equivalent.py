"""Finds mutants that change nothing: proves that the machine with the change is the machine without it.

Both have the same registers and the same memories. These are taken out: their outputs become inputs, and their inputs outputs.
Two circuits without state are left, and yosys' solver looks for values on which they differ. If there are none, no program and
no bench can tell the mutant from the machine. Bits that nothing reads in either, however long the chain, are not compared. A
difference need not be one: the state that shows it may never be reached.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sim.mutants.netlist import Mutant
from sim.rtl.interrupts import temporary_folder
from sim.synthesis.tools import SynthesisError, find_tool

SECONDS = 20
"""The seconds of the solver. Where they are not enough, nothing is proved."""
MOST_BITS = 5000
"""The most bits of a memory that is made of registers to be compared."""
NO_PARTNER = "No matching port"
"""What yosys says where a port of a module inside is changed."""
_CUT = """\
module cut_register(input CLK, input D, output Q);
  assign Q = 0;
endmodule
"""
"""A module that stands for a bit of a register. It is taken out if its name is public: its output may be any value, and its
input is compared."""
_CUTTING = r"""
module \$dff (CLK, D, Q);
  parameter WIDTH = 1;
  parameter CLK_POLARITY = 1;
  input CLK;
  input [WIDTH-1:0] D;
  output [WIDTH-1:0] Q;
  genvar at;
  generate for (at = 0; at < WIDTH; at = at + 1) begin: bit
    cut_register cut (.CLK(CLK), .D(D[at]), .Q(Q[at]));
  end endgenerate
endmodule
"""
_PROOF = """\
read_verilog cut.v
read_rtlil machine.il
setattr -unset init w:*
copy {module} gold
mutate {options}
rename {module} gate
setattr -mod -unset top -unset keep_hierarchy *
memory_map gold gate
setattr -set of_the_machine 1 gold/t:$mux gate/t:$mux
dffunmap gold gate
rename -enumerate -pattern register_of_memory_% gold/t:$dff gate/t:$dff
techmap -map cutting.v gold gate
hierarchy
rename -hide gold/w:* gate/w:*
simplemap gold/t:$mux gate/t:$mux %u a:of_the_machine %d
opt_expr gold gate
opt_clean -purge gold gate
expose -evert gold
expose -evert gate
miter -equiv -flatten -make_outputs gold gate miter
cd miter
opt_merge
opt_expr
opt_clean -purge
cd
tee -o result sat -timeout {seconds} -prove trigger 0 miter
"""


def proved_equivalent(netlist: Path, mutant: Mutant) -> bool:
    """Whether the mutant is proved equivalent. ``netlist``: yosys' text of the machine that the mutants were drawn from."""
    words = re.fullmatch(r"memory_(\d+)x(\d+)\w*", mutant.module)
    if words is not None and int(words[1]) * int(words[2]) > MOST_BITS:
        return False
    with temporary_folder() as work:
        script = _PROOF.format(module=mutant.module, options=mutant.options, seconds=SECONDS)
        (work / "proof.ys").write_text(script)
        shutil.copyfile(netlist, work / "machine.il")
        (work / "cut.v").write_text(_CUT)
        (work / "cutting.v").write_text(_CUTTING)
        try:
            find_tool("yosys").run(["-q", "proof.ys"], work)
        except SynthesisError as error:
            if NO_PARTNER in str(error):
                return False
            raise
        return "SUCCESS" in (work / "result").read_text()
