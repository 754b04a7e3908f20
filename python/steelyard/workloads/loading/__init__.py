"""Loads a workload into a server, and keeps loaded clusters as templates."""
