"""From ONNX to XGraph: reading, checking, quantising, importing, and what stays on the CPU."""
