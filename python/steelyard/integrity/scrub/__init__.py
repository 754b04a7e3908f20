"""Reads every page of a cluster and says which are damaged."""
