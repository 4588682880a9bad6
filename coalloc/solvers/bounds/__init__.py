"""Lower bounds: work, area, feasible-set LP, processor patterns, speed levels, costs."""
