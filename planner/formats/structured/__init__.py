"""The structured JSON of kernel compilers."""
