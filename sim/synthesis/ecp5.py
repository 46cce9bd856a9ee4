"""How yosys maps to an ECP5: ``synth_ecp5``, but sums of few bits in LUTs.

A carry chain takes two LUTs for each two bits begun, two more where its carry leaves for a LUT, as that of each comparison
does, and slices beside each other, which a crowded chip has no longer.
"""

NARROW_BITS = 12
"""The widest sum in LUTs. LUT cells of ``nano``, flattened and packed by nextpnr 0.11: 20 745 with none, 20 115 with 6 bits,
19 816 with 9, 19 447 with 12, 19 074 with 16; but the wider, the slower."""


def script(top: str) -> str:
    """The commands that flatten ``top`` and map it to cells, which bear the names of the signals that they drive."""
    return f"{to_gates(top)}; {to_cells(top, 'abc -lut 4 -dress')}; {_command(top)} check:"


def to_gates(top: str, options: str = "") -> str:
    """Those that make gates, carry chains, multipliers, memories and flip-flops."""
    narrow = f"techmap -map +/techmap.v t:$alu r:Y_WIDTH<={NARROW_BITS} %i; opt -fast"
    command = _command(top, options)
    return f"{command} begin:map_gates; {narrow}; {command} map_gates:map_luts"


def to_cells(top: str, abc: str) -> str:
    """Those that map gates: to LUTs by the same mapper in every version of yosys, to cells as ``synth_ecp5`` does it, for the
    files of the family's cells have other names in each."""
    return f"{abc}; clean; {_command(top)} map_cells:check"


def _command(top: str, options: str = "") -> str:
    return f"synth_ecp5 -nowidelut {options}-top {top} -run"
