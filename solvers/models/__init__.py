"""What the solvers that write down a mathematical model share: CP-SAT, CBC and HiGHS."""
