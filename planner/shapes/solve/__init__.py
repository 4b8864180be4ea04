"""Plans of symbolic problems: offsets for every value, one order, or several.

In: a symbolic problem, options, and the kind of plan. Out: a symbolic plan that the judge has accepted. The
problem at each point is solved as an ordinary one, which gives the least peak and an order to start from; the
search then improves orders at all points at once.
"""
