"""Why: what keeps jobs from a place, what bounds an objective, which capacity moves the bound, why jobs waited."""
