"""Searches the highest rate within a limit of latency, of all arms in turn."""
