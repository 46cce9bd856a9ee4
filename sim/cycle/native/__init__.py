"""The execution of the cycle model in C++. It takes a tenth of the time of ``sim.cycle.control`` and finds the same in every
bit.

Each header belongs to the module of ``sim.cycle`` of its name, and has no number of its own. Without a compiler the Python
runs.
"""
