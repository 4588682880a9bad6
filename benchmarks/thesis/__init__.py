"""The experiments of the thesis, rerun: ``python benchmarks/thesis/run.py NAME``."""
