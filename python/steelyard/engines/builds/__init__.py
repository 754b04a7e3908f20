"""Builds of every kind of engine: fetched, kept in the cache, copied, chosen."""
