"""Studies on many hosts: which weighing runs where, one at a time, and its record brought home."""
