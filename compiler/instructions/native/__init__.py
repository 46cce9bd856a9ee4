"""Hazards, order and tokens of a program in C++: what the modules of ``compiler.schedule`` find, in a tenth of the time."""
