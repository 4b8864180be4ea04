"""Graphs whose sizes are formulas: read, checked, and as the symbolic problem of their given order."""
