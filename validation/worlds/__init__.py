"""Worlds: what a machine could do to a weighing, drawn from a seed, with the truth known."""
