"""Reads what became of the transactions and the rows of a table."""
