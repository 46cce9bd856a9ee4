"""Mutants that change nothing: the module with the change is proved to be the module without it.

Both have the same registers and the same modules inside. With these taken out, their outputs as inputs and their inputs as
outputs, two circuits without state are left; yosys' solver looks for values on which they differ. If there are none, no program
and no bench can tell the mutant from the machine. A difference need not be one: the state that shows it may never be reached.
"""

from __future__ import annotations

import re
from pathlib import Path

from sim.mutants.netlist import Mutant
from sim.rtl.interrupts import temporary_folder
from sim.synthesis.tools import SynthesisError, find_tool

SECONDS = 20
"""For the solver; where they are not enough, nothing is proved."""
MOST_BITS = 5000
"""Of a memory that is made of registers to be compared."""
_PROOF = """\
read_rtlil {netlist}
copy {module} gold
mutate {options}
rename {module} gate
memory_map gold gate
expose -evert -evert-dff gold
expose -evert -evert-dff gate
miter -equiv -flatten -make_outputs gold gate miter
tee -o result sat -timeout {seconds} -prove trigger 0 miter
"""


def proved_equivalent(netlist: Path, mutant: Mutant) -> bool:
    """``netlist``: yosys' text of the machine that the mutants were drawn from."""
    words = re.fullmatch(r"memory_(\d+)x(\d+)\w*", mutant.module)
    if words is not None and int(words[1]) * int(words[2]) > MOST_BITS:
        return False
    with temporary_folder() as work:
        script = _PROOF.format(netlist=netlist, module=mutant.module, options=mutant.options, seconds=SECONDS)
        (work / "proof.ys").write_text(script)
        try:
            find_tool("yosys").run(["-q", "proof.ys"], work)
        except SynthesisError:
            return False  # a port of a module inside is changed, and has no partner
        return "SUCCESS" in (work / "result").read_text()
