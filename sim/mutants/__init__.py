"""Mutants of the Verilog: faults put into the netlist one by one, and the tests that must find them."""
