"""What a problem, its options, an event and a plan are: the words that every other room speaks.

Everything here is a value: what it may hold is checked when it is read, what it means together in
`planner.check`. Nothing here reads files, solves or judges.
"""
