"""Judges rates that arms carried, and what their transactions cost."""
