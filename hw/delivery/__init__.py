"""The machine as an integrator wants it: names, ports, reset, memories, and the files around the Verilog."""
