"""The judge of columns: native code that shares no source with the solvers."""
