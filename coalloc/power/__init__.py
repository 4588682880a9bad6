"""Energy of a schedule; power of nodes, clusters and sites."""
