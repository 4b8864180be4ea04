"""Inside of ExecuTorch, which is too large for the environment of all other tests."""

NEEDED = "needs ExecuTorch and PyTorch: run `make test-executorch`"
