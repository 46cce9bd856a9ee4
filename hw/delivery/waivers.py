"""The warnings of ``verilator -Wall`` that the emitted Verilog raises, each with the reason why it is no fault of the
machine."""

from __future__ import annotations

WAIVERS = {
    "DECLFILENAME": "All modules of a machine are in one file, so most are not named after it.",
    "UNUSEDSIGNAL": "Every field of every structure keeps its name, for waveforms, whether or not the field is read.",
    "PROCASSINIT": "Registers are declared with the value that they have after configuration of an FPGA.",
    "CASEINCOMPLETE": "Every combinational process assigns a default before its `casez`: values without a branch are covered.",
    "WIDTHEXPAND": "Operands are written in their own width and sign; that Verilog extends the narrower one is what is meant.",
    "WIDTHTRUNC": "`!` is applied to whole vectors, to compare them with zero.",
    "CMPCONST": "The same description serves all configurations: a bound may be one that a field cannot pass in this one.",
}


def waiver_file(files: list[str]) -> str:
    """A control file for Verilator, to be given before these Verilog files. It affects no other file."""
    lines = ["`verilator_config"]
    for rule, reason in WAIVERS.items():
        lines += [f"// {reason}", *(f'lint_off -rule {rule} -file "*{file}"' for file in files)]
    return "\n".join((*lines, ""))
