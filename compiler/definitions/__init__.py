"""Definitions of what onnxruntime computes in float between Q and DQ, as ONNX functions of integer operators."""
