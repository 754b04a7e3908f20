"""Rows that several machines make and copy into one server."""
