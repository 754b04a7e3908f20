"""Runs what `steelyard drive` was asked for: scripts, or a workload that a server holds."""
