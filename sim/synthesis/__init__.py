"""What open synthesis makes of the machine's Verilog: sizes, levels of logic, and a placed chip."""
