"""CSV, a buffer a line, as MiniMalloc reads and writes it."""
