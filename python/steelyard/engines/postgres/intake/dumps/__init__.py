"""Reads dumps of pg_dump in every format and executes them in one session."""
