"""Searches for schedules: beam search, annealing, branch and bound."""
