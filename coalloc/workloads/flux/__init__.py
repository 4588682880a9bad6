"""Flux instances: the listing of their jobs, and their resources."""
