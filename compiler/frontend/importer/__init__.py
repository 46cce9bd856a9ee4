"""Imports a quantised ONNX model to XGraph, with one rule for each family of operators."""
