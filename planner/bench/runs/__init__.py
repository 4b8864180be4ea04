"""Runs of the bench: what is to be run, who runs it where, and what it takes."""
