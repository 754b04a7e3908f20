"""What a record holds of turns: each turn by itself, and what is told of all."""
