"""Reads JSON: its values with their places, and numbers by arm."""
