"""Places for buffers that are given as arrays."""
