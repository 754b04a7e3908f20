"""Reads a workload: its folder, its options, its scripts, and what a study chooses of them."""
