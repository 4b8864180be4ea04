"""Who solves, in what order, until when.

In comes a problem that makes sense and its options, out goes a plan that the judge has accepted, with what
is proven of it. `engine` is the way through; what it knows and asks is in the other files.
"""
