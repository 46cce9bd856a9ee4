"""Builders of the networks that tests and tables are made of: float ONNX with seeded random weights."""
