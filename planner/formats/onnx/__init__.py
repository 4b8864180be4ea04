"""ONNX models as graphs, with the `onnx` package (extra `onnx`)."""
