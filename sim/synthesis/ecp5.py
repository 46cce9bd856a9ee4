"""The mapping of yosys to an ECP5: ``synth_ecp5``, but with sums of few bits in LUTs.

A carry chain takes two LUTs for each two bits begun. It takes two more where its carry goes to a LUT, as that of each
comparison does. It also needs slices beside each other, which a crowded chip lacks.
"""

NARROW_BITS = 12
"""The widest sum in LUTs. Wider sums there take fewer cells in all, but are slower."""


def script(top: str) -> str:
    """The commands that flatten ``top`` and map it to cells, which bear the names of the signals that they drive."""
    return f"{to_gates(top)}; {to_cells(top, 'abc -lut 4 -dress')}; {_command(top)} check:"


def to_gates(top: str, options: str = "") -> str:
    """The commands that make gates, carry chains, multipliers, memories and flip-flops."""
    narrow = f"techmap -map +/techmap.v t:$alu r:Y_WIDTH<={NARROW_BITS} %i; opt -fast"
    command = _command(top, options)
    return f"{command} begin:map_gates; {narrow}; {command} map_gates:map_luts"


def to_cells(top: str, abc: str) -> str:
    """The commands that map gates: to LUTs by the same mapper in every version of yosys, and to cells as ``synth_ecp5`` does,
    since the files of the family's cells have other names in each version."""
    return f"{abc}; clean; {_command(top)} map_cells:check"


def _command(top: str, options: str = "") -> str:
    return f"synth_ecp5 -nowidelut {options}-top {top} -run"
