"""The generated Verilog in open simulators, with a model of its memory."""
