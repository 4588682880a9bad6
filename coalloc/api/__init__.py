"""The public functions: the only place that wires the rooms together by name."""
