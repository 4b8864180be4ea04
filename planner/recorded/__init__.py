"""What PyTorch's allocator did while a program ran, as a problem, and as the plan that it was."""
