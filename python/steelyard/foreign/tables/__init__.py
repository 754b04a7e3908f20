"""Reads tables: CSV, and JSON records as rows."""
