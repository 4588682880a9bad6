"""Policies, one family per file, made of rules and, where they optimise, of solvers."""
