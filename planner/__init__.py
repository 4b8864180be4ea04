"""What a memory problem and a plan mean, how one becomes the other, and how a plan is judged."""
