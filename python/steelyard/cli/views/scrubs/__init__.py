"""Formats scrubs of databases other than PostgreSQL."""
