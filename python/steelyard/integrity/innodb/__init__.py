"""Verifies the pages of InnoDB data directories: MySQL's and MariaDB's."""
