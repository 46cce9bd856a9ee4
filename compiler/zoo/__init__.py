"""Builders of the networks for tests and tables: float ONNX with seeded random weights."""
