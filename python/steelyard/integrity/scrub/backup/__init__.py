"""Reads base backups: directories and tar archives, complete or broken."""
