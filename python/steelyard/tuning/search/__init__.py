"""Searches for settings: weighs candidates against the control, and confirms the winner."""
