"""Run models and bound them."""
