"""Backends that solve a model: HiGHS, another solver of Pyomo, CP-SAT in a process of its own."""
