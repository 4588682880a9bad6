"""Free resources over time; pure functions: queue orders, allocation rules, brokering, list scheduling."""
