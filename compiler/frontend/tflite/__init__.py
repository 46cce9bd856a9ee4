"""Translates TFLite models to ONNX models, quantised ones in QDQ form."""
