"""Dumps of XLA: the memory of a compiled program, and when its values live."""
