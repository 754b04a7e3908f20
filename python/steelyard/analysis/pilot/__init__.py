"""Statistics of the pilot: they choose slice length, warm-up and placement."""
