"""TFLite models as ONNX models: quantised ones in QDQ form."""
