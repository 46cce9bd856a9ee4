"""Post-processing: int32 accumulators to int8 activations."""
