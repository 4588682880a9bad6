"""Sources of instances: seeded generators, traces in the Standard Workload Format, bundled examples."""
