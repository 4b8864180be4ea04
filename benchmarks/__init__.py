"""Benchmarks of the promises about speed: `make bench` runs it all and writes benchmarks/results.md."""
