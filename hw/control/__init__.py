"""The control side of the machine: registers, fetch, dispatch, tokens, faults and counters."""
