"""MySQL and MariaDB: what is asked of a running server by SQL."""
