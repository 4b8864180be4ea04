"""Inside of PyTorch: its compiler with the orders and the offsets of memstow."""
