"""Proofs of properties of the machine's parts, for every input: the engine, the harness, and the properties."""
