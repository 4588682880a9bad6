"""For tests of formulations, bounds and policies: brute force from the definitions, and small random instances."""
