"""Solves of one package (PAS): all jobs start together."""
