"""Sizes that are formulas of symbols: what they are at a value and at most, and what is wrong with them.

`formula` reads, evaluates and bounds formulas, `sizes` those of a problem; `symbolic_check` says what is
wrong with a problem or a graph whose sizes are formulas, and makes the problem of such a graph.
"""
