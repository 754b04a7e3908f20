"""Reads every page of a PostgreSQL cluster or base backup and reports the damaged ones."""
