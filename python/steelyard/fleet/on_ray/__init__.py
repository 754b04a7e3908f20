"""Machines of a Ray cluster: the only package that imports Ray."""
