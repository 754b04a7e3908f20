"""Reasons to doubt a verdict, each raised from what the record holds."""
