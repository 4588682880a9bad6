"""Packages of jobs that start together (PAS), with their bounds and searches."""
