"""Solves that minimise energy, with their bounds and searches."""
