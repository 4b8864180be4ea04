"""What memstow promises about speed, measured: `make bench` runs it all and writes docs/benchmarks.md."""
