"""Formats of ExecuTorch: its list of tensors, and the problems of its planner for Cadence."""
