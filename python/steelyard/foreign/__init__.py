"""Numbers that came from elsewhere, read and told apart: one format a file."""
