"""Back ends: solvers made by others, each in a process of its own with a memory limit and a hard stop.

Takes a task, returns the outcome. A crash or a leak of a back end ends with its process.
"""
