"""Runs a weighing: preparation, pilot, epochs, and what is published at the end."""
