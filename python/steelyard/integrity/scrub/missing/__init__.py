"""Finds what belongs to a cluster and is not there: files, maps, databases."""
