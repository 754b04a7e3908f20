"""How slice length, warm-up and placement are chosen."""
