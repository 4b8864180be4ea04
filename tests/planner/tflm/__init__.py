"""Tests of planner/tflm."""
