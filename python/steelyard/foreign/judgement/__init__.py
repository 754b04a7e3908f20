"""Judges numbers from elsewhere by the rule of a weighing."""
