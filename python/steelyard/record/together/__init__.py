"""Slices that several load machines drove at once."""
