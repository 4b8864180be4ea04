"""Tests of planner/formats/onnx."""
