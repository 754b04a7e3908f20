"""Measures what the storage beneath a directory does, by fio."""
