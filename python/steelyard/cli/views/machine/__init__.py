"""Formats what is found of the machine: its doctor, its storage, the settings it asks for."""
