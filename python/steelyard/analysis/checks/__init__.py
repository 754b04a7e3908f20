"""Statistics that test what a weighing assumes."""
