"""Why: what keeps jobs from a place, what bounds an objective, which capacity moves the optimum, why jobs waited."""
