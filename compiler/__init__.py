"""ONNX in, program out."""
