"""The machine's Verilog without any promise that an ASIC or a block RAM does not keep.

Registers have no value before reset, and memories hold anything at first. A word that is read in the cycle in which it is
written is anything, whichever bytes are written.
"""

from __future__ import annotations

import re

from hw.delivery.uninitialised import without_initial_values

_MEMORY = re.compile(r"^module (?:\w+_)?memory_.*?^endmodule$", re.MULTILINE | re.DOTALL)
_WIDTH = re.compile(r"^  input +(?:wire )?\[(\d+):0\] write_data[;,]$", re.MULTILINE)
OPTIONS = {"--x-assign": "unique", "--x-initial": "unique"}
"""The options of Verilator in place of its quick defaults."""
MOST_SEED = (1 << 31) - 1


def garbled(verilog: str) -> str:
    """The same machine as it is written for ASICs, for a simulator that fills what has no value at random."""
    return _MEMORY.sub(lambda match: _garbled_memory(match[0]), without_initial_values(verilog))


def simulator_arguments(seed: int) -> list[str]:
    """The arguments of the simulator for the random values of one run."""
    return ["+verilator+rand+reset+2", f"+verilator+seed+{seed % MOST_SEED + 1}"]


def _garbled_memory(module: str) -> str:
    width = _WIDTH.search(module)
    assert width is not None, "every memory module has write_data"
    anything = f"{{{int(width[1]) // 32 + 1}{{$urandom}}}}"
    collision = f"|write_en && write_addr == read_addr ? {anything} : words[read_addr]"
    return module.replace("read_data <= words[read_addr];", f"read_data <= {collision};")
