"""The sections of docs/results/validation.md, each from its results."""
