"""Two runs of the bench, one before and one after a change: what got better or worse, chance aside."""
