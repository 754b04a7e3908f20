"""The exact test, its looks and its sets."""
