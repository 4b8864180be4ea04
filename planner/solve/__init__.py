"""Solves a problem: which solvers, in what order, until when.

Takes a problem and options, returns a plan that the judge has accepted, with proven bounds. `engine` is the
entry; `one_run` lets the solvers that `portfolio` picks take turns, and holds the best layout and the bounds.
"""
