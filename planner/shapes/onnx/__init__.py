"""ONNX models whose open dimensions are symbols."""
