"""Builds of PostgreSQL: found, added, identified."""
