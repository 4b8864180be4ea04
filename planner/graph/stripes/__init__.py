"""Stripes: operators that run together, in strips of columns and in each row by row (docs/stripes.md).

In: a graph and an order of its operators. Out: which of them may run together, what that needs and costs,
and the graph in which a stripe is one operator with its rings as temporaries.
"""
