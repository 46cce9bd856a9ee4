"""The CONV unit: window, array, accumulators, drain."""
