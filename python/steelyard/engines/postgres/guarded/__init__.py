"""Connections to servers of others: libpq in a process of its own, with limits."""
