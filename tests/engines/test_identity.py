"""What a build is called, as people write it."""

from __future__ import annotations

import pytest

from steelyard.model.identity import Identity


@pytest.mark.parametrize(
    ("kind", "version", "product"),
    [
        ("postgres", "18.4", "PostgreSQL 18.4"),
        ("mysql", "5.7.29", "MySQL 5.7.29"),
        ("mysql", "8.0.36-28", "Percona Server 8.0.36-28"),
        ("mariadb", "10.11.19", "MariaDB 10.11.19"),
        ("questdb", "8.1", "questdb 8.1"),
    ],
)
def test_a_build_is_called_by_its_products_name(kind: str, version: str, product: str) -> None:
    identity = Identity(kind, version, 0, "", "", "", "bindir", "", assertions=False)
    assert identity.product == product
