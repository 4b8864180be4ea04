"""Runs of the bench: tasks, executors, supervisors and child processes, and the resources that runs use."""
