"""Checks that the work of a workload was done."""
