"""Generators, traces, bundled instances and platforms."""
