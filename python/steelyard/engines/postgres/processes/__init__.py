"""The processes of a PostgreSQL server as the operating system shows them."""
