"""The ROW unit: softmax and normalisation of rows."""
