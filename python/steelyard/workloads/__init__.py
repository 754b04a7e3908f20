"""The work that is driven: one folder a workload."""
