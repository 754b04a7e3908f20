"""A real server of MySQL 5.7 or MariaDB 10.11 for tests, its directory removed at the end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driver import mariadbd, mysqld
from steelyard.engines.mysql.sql.database import MysqlDatabase
from steelyard.engines.mysql.uri import read_uri

PRODUCTS = ("mysql", "mariadb")


@contextmanager
def started(product: str, *options: str) -> Iterator[mysqld.Mysqld]:
    """A server of a product that runs until the end."""
    home = Path(tempfile.mkdtemp(prefix=f"syt-{product}-", dir="/tmp"))  # a socket's path is short
    home.chmod(0o711)
    try:
        with (mariadbd if product == "mariadb" else mysqld).running(home, *options) as server:
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


def database_at(server: mysqld.Mysqld) -> MysqlDatabase:
    """Its database of workloads."""
    return MysqlDatabase(read_uri(server.uri()))
