"""Formats the history of records for a terminal."""
