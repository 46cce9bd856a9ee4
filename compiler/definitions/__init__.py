"""Defines operations that onnxruntime computes in float between Q and DQ as ONNX functions of integer operators."""
