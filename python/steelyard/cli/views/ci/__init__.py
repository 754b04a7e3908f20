"""Writes a verdict for continuous integration: Markdown for people, JUnit for machines."""
