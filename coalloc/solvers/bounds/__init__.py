"""Lower bounds: simple ones, area, feasible sets by column generation, branching on speed levels, energy."""
