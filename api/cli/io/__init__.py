"""What every command needs: arguments, a problem to read, a plan to write, the terminal, progress."""
