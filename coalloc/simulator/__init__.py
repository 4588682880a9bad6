"""The event simulator: the engine and its parts, and the protocol that policies follow."""
