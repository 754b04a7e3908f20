"""What to ask of the load driver, and what it answers."""
