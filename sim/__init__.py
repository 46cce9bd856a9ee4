"""The simulators: what the binary computes, how long it takes, and the generated hardware itself."""
