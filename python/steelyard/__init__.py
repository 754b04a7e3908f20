"""Steelyard: a laboratory for databases, PostgreSQL first."""

__version__ = "0.1.0"
