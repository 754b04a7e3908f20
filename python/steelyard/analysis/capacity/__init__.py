"""Finds the highest arrival rate that an arm carries within a limit of latency."""
