"""Special cases: bin packing, unrelated machines."""
