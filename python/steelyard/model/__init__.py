"""Nouns that every stage may use."""
