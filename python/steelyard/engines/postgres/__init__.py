"""PostgreSQL: one noun a file."""
