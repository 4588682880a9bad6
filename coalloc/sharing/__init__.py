"""Nodes that tasks share: fair shares of CPU, which tasks memory stops, and the pace of jobs that follows."""
