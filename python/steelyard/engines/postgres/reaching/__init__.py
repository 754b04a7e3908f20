"""Servers that somebody else runs: they are connected to, and neither started nor stopped."""
