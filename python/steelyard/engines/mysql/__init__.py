"""MySQL and MariaDB: how their servers are reached."""
