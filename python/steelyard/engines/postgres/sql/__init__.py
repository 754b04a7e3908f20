"""What a running PostgreSQL server says about itself."""
