"""Formats what the commands print on a terminal, one kind of result a file."""
