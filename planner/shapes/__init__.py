"""Plans that lay out every value of symbols.

`plan_symbolic` finds plans: the problem at each point is solved as an ordinary one (`point_plans`), which
gives the least peak and an order to start from; the search then improves orders at all points at once.
`symbolic_layout` and `symbolic_c` compute offsets at a value, `sweep` peaks at many.
"""
