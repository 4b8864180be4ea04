"""Recompute and spill: what to make again, or to copy out and back, so that the peak falls.

In: a graph, the order of its operators' first runs, what may be done and what it may cost. Out: points of the
front of (peak, cost), each with its schedule and a bound. docs/recompute.md shows how, and proves the bound.
"""
