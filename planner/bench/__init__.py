"""Many problems x many solvers: run, record, compare, draw."""
