"""Solvers made by others: each runs in a process of its own, with a memory limit and a hard stop.

In comes a task as solvers know it, out goes what the back end found. What happens to its process stays with
its process.
"""
