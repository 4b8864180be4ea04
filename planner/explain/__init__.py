"""Why nothing fits, and what it would take.

In comes a problem for which there is no plan, out go the buffers that are too many, the capacities with which
there is one, and the single constraints without which there is one.
"""
