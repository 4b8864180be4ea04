"""Sizes that are formulas of symbols: what they are at a value, and plans that lay out every value."""
