"""The machine in Amaranth, one unit per file, and its Verilog."""
