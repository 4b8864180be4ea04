"""With PyTorch, which is too large for the environment of all other tests."""

NEEDED = "needs PyTorch: run `make test-torch`"
