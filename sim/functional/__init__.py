"""The functional simulator: executes the binary on a memory image, every bit as the machine does."""
