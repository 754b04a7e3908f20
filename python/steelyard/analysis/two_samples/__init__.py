"""Statistics for numbers from elsewhere."""
