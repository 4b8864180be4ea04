"""Modules shared by the solvers with a mathematical model: CP-SAT, assign, CBC and HiGHS."""
