"""Everything that is kept about a weighing, and how it is written and read back."""
