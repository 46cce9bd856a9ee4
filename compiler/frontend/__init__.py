"""The way from ONNX to XGraph: models are read, checked, quantised and imported, and the rest of them goes to the CPU."""
