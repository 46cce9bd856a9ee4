"""From a quantised ONNX model to XGraph: one rule per family of operators."""
