"""The execution of the cycle model in C++: in a tenth of the time what ``sim.cycle.control`` finds, equal in every bit.

Each header has the module of ``sim.cycle`` of its name, and no number of its own. Where there is no compiler the Python runs.
"""
