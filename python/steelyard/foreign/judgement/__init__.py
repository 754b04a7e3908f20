"""Judges numbers from elsewhere."""
