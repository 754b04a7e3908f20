"""Drills as text, beside PostgreSQL's."""
