"""What a record holds of turns: each turn, its seconds, and the summary of all in the verdict."""
