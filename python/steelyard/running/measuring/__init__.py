"""Measures: pilot, slots, load, epochs until the plan ends."""
