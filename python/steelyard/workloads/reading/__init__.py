"""Reads what a workload is: its folder, its options, its scripts."""
