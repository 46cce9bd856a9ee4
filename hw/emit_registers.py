"""Writes registers in the emitted Verilog in the form that people and tools know.

The back end writes the next value of a register as a wire of its own, with an ``always @*`` to compute it::

    always @* begin                              always @(posedge clk) begin
      if (kickstart) begin end                     if (enable)
      \\$7 = value;                       ->          value <= data;
      if (enable) \\$7 = data;                       if (rst)
      if (rst) \\$7 = 0;                               value <= 0;
    end                                          end
    always @(posedge clk) value <= \\$7 ;

Synthesis tools look for the form on the right, and the `base` machine simulates a fifth faster in it, for a register that rests
is not copied.
"""

from __future__ import annotations

import re
from collections import Counter

_INTERNAL = re.compile(r"\\\$\d+ ")
_CLOCKED = re.compile(
    r"^  always @\(posedge (?P<clock>\w+)\)\n    (?P<register>[^\n<]+?) <= (?P<next>\\\$\d+ );\n", re.MULTILINE
)
_COMBINATIONAL = re.compile(
    r"^  always @\* begin\n    if \(kickstart\) begin end\n(?P<body>    (?P<next>\\\$\d+ ) = .*?)^  end\n",
    re.MULTILINE | re.DOTALL,
)


def fold_registers(module: str) -> str:
    """The text of a module, with each next value that only one register reads moved into that register's block."""
    uses = Counter(_INTERNAL.findall(module))
    register_of = {match["next"]: match["register"] for match in _CLOCKED.finditer(module)}
    blocks: dict[str, str] = {}
    for match in _COMBINATIONAL.finditer(module):
        name, body = match["next"], match["body"]
        declared_and_read = 2
        if name in register_of and uses[name] == body.count(name) + declared_and_read:
            blocks[name] = body
    if not blocks:
        return module

    def drop(match: re.Match[str]) -> str:
        return "" if match["next"] in blocks else match.group(0)

    def fold(match: re.Match[str]) -> str:
        name = match["next"]
        if name not in blocks:
            return match.group(0)
        register = match["register"]
        keep, _, rest = blocks[name].partition("\n")
        body = rest if keep == f"    {name} = {register};" else blocks[name]
        assignment = rf"^( *){re.escape(name)}((?:\[[0-9:]+\])?) = "
        assigned = re.sub(assignment, rf"\1{_escaped(register)}\2 <= ", body, flags=re.MULTILINE)
        return f"  always @(posedge {match['clock']}) begin\n{assigned}  end\n"

    folded = _CLOCKED.sub(fold, _COMBINATIONAL.sub(drop, module))
    declaration = re.compile(r"^  reg (?:\[\d+:0\] )?(\\\$\d+ );\n", re.MULTILINE)
    folded = declaration.sub(lambda match: "" if match[1] in blocks else match.group(0), folded)
    if "if (kickstart)" not in folded:
        folded = re.sub(r"^  reg kickstart = 0;\n", "", folded, flags=re.MULTILINE)
    return folded


def _escaped(register: str) -> str:
    """A register's name, escaped for use in the replacement of a substitution."""
    return register.replace("\\", "\\\\")
