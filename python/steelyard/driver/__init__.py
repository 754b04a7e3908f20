"""Requests to the load driver, and summaries of its answers."""
