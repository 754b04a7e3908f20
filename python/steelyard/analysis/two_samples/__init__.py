"""Statistics of two samples of rows, for numbers from elsewhere."""
