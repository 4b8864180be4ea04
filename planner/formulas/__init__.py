"""Sizes that are formulas of symbols, and what they are at a value and at most.

`formula` reads, evaluates and bounds formulas, `sizes` those of a problem.
"""
