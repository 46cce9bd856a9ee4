"""How yosys maps to an ECP5: ``synth_ecp5``, but sums of few bits in LUTs.

A carry chain takes two LUTs for each two bits begun, two more where its carry leaves for a LUT, as that of each comparison
does, and slices beside each other, which a crowded chip has no longer.
"""

NARROW_BITS = 12
"""The widest sum in LUTs. LUT cells of ``nano``, flattened and packed by nextpnr 0.11: 20 745 with none, 20 115 with 6 bits,
19 816 with 9, 19 447 with 12, 19 074 with 16; but the wider, the slower."""


def script(top: str, options: str = "", end: str = "") -> str:
    """The commands that map ``top``, up to the label ``end``, or to the cells."""
    command = f"synth_ecp5 -nowidelut {options}-top {top} -run"
    narrow = f"techmap -map +/techmap.v t:$alu r:Y_WIDTH<={NARROW_BITS} %i; opt -fast"
    return f"{command} begin:map_gates; {narrow}; {command} map_gates:{end}"
