"""The driver's own test server is what a group drives too."""

from driver.conftest import server

__all__ = ["server"]
