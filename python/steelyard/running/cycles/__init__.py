"""Weighs in cycles: all arms run, each in its own time, over whole checkpoint cycles."""
