"""Machines of a Ray cluster: the only room that knows Ray."""
