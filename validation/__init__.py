"""Proves that the balance reads right: by simulation, by replay, and on real servers."""
