"""Makes Verilog that gives nothing a value before reset, as ASIC flows want it.

Without a first value to wake them, combinational processes become ``always_comb``, which runs once by itself. So the text is
SystemVerilog.
"""

from __future__ import annotations

import re

_REGISTER = re.compile(r"^(  (?:output )?reg (?:\[\d+:\d+\] )?(?:\\\S+ |[\w$]+)) = [^;,\n]+(;|,|)$", re.MULTILINE)
_KICKSTART = re.compile(r"^  reg kickstart;\n  initial kickstart = 0;\n|^    if \(kickstart\) begin end\n", re.MULTILINE)
_MEMORY = re.compile(r"^  integer i;\n|^  initial .*;\n", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^ *\(\* init = \S+ \*\)\n", re.MULTILINE)


def without_initial_values(text: str) -> str:
    """The same machine without the initial values of registers and memories, and without attributes that name such values."""
    text = _KICKSTART.sub("", text).replace("  always @* begin\n", "  always_comb begin\n")
    return _REGISTER.sub(r"\1\2", _ATTRIBUTE.sub("", _MEMORY.sub("", text)))
