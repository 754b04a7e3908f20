"""Factorials: effects and interactions of a record, and their sentences."""
