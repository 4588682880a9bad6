"""Explanations: infeasibility, bounds, sensitivity to capacity, waiting."""
