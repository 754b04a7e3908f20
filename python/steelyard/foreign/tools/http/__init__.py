"""Reads what load generators for HTTP write."""
