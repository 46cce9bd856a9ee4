"""Open synthesis of the machine's Verilog: sizes, levels of logic, and a placed chip."""
