"""Sentences about facts: the same words on a terminal, on a page, in Markdown and in a record."""
