"""Orders of operators: which one needs the fewest bytes at once, and the proof that none needs fewer."""
