"""Reads what other tools write: a tool's format a file."""
