"""Builds of MySQL and MariaDB from the real npm and apt, for tests that start servers."""

from __future__ import annotations

import pytest

from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache
from steelyard.engines.mysql.builds.added import Added, add_product
from steelyard.model.errors import EngineError, UsageError

NOWHERE = (
    *("reaches no registry", "is not installed", "is known for architecture", "by apt-get"),
    *("this system's packages have no", "apt knows no package"),
)
"""What an error says where a build cannot be brought, and nothing is wrong with Steelyard."""


def fetch(product: str) -> Added:
    """Add "mysql-5.7" or "mariadb-10.11"; skips the test where it cannot be had."""
    try:
        return add_product(product, choose_account(), open_cache(), lambda _: None)
    except (EngineError, UsageError) as error:
        if not any(words in error.primary for words in NOWHERE):
            raise
        pytest.skip(f"no {product} is brought: {error.primary}")
