"""The sections of docs/validation.md, each from its results."""
