"""``solve``, ``simulate`` and the like: the only package that connects the others by name."""
