"""Inside of PyTorch: its compiler with the orders and the offsets of memstow, and plans as its allocator."""
