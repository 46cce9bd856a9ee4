"""The machine as an integrator wants it: names, ports, reset, memories and files around the Verilog."""
