"""Weeks of a grid from traces of its sites: one broker's clock, nine filters, and an account of every job."""
