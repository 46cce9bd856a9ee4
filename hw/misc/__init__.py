"""The MISC unit: element-wise work over five nested loops."""
