"""Post-processing, which makes int8 activations of int32 accumulators."""
