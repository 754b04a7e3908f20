"""The life of a PostgreSQL cluster: made, cloned, started, stopped."""
