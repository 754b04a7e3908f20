"""Judges the scripts of a mix, and their statements, each by itself."""
