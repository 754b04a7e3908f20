"""Weighings that a command makes several of: sweeps and searches."""
