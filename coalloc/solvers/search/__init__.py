"""Searches for schedules: sampling, beam search, annealing, large neighbourhoods, branch and bound."""
