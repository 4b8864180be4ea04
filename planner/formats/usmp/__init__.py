"""Formats of TVM's Unified Static Memory Planner."""
