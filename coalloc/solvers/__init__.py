"""Portfolio: the table of methods, and the loop that runs it."""
