"""Loads a workload into a server."""
