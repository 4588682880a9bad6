"""Benchmark harness: specifications, samples in processes of their own, one store, reports and comparisons."""
