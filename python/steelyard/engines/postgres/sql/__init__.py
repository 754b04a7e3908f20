"""Control connections to a running PostgreSQL server, and what is read over them."""
