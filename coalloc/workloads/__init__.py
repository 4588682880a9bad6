"""Where instances come from: seeded generators, traces in the Standard Workload Format, bundled examples."""
