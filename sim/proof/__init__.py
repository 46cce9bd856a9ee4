"""Properties of the machine's parts, proved for every input: engine, harness, and what is proved."""
