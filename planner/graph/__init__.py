"""From a graph to a problem: who makes and reads what, what is live when, and the problem of one order.

In: a graph of `planner.model.graph`. Out: its issues, a problem for an order of its operators, the arrays
that the search for an order reads.
"""
