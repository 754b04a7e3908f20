"""MySQL and MariaDB: what is read and done on a running server by SQL."""
