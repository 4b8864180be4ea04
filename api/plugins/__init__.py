"""Inside of other compilers: their interfaces, answered by the planner."""
