"""HiGHS, other solvers of Pyomo, CP-SAT and Pumpkin."""
