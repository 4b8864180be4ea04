"""A solve in a process group of its own: a hard stop, a memory limit, and nothing left behind."""
