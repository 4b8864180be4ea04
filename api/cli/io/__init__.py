"""Input and output that commands share: arguments, problems, plans, the terminal, progress."""
