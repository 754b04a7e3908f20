"""What a server accepts for its settings, and how their values are read and written."""
