"""MySQL and MariaDB: data directories, and servers from their start to their end."""
