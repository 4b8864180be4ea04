"""Problems, options, events, plans, targets and errors: the values that every other room works with.

The type of each field is checked when a value is made, what must hold between fields in `planner.check`.
Nothing here reads files, solves or judges.
"""
