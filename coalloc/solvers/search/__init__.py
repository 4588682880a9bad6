"""Beam search, annealing, deadline-feasibility search, branch and bound over running sets."""
