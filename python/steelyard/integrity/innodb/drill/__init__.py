"""Damages InnoDB files of servers made for it, and counts what notices."""
