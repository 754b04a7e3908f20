"""Reads from its settings what a server takes of the machine's memory."""

from __future__ import annotations

import os
from collections.abc import Mapping

from steelyard.engines.account import Account
from steelyard.engines.capabilities.memory import MemoryNeed, MemorySettings
from steelyard.engines.engine import Settings
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.mysql.settings import DEDICATED, POOL, defaults_of, reported_name

_MEMORY = MemorySettings(pool=POOL, huge_pages="large_pages", megabytes="M")


def memory_need(build: Build, account: Account, settings: Settings) -> MemoryNeed:
    """By innodb_buffer_pool_size, and large_pages, as the server itself reads the settings; by the
    machine's memory where innodb_dedicated_server has the server size its pool as it starts."""
    defaults: Mapping[str, str | None] = defaults_of(build, account, settings)
    pool_bytes = int(defaults.get(POOL) or 0)
    if defaults.get(DEDICATED) == "TRUE" and not _sets_pool(settings):
        memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        pool_bytes = dedicated_pool_bytes(memory_bytes, pool_bytes)
    return MemoryNeed(
        pool_bytes=pool_bytes,
        huge_pages="on" if (defaults.get("large_pages") or "FALSE") == "TRUE" else "off",
        settings=_MEMORY,
    )


def _sets_pool(settings: Settings) -> bool:
    """Whether the size of the pool is among settings, however its name is spelt."""
    return any(reported_name(option) == POOL for option in settings)


def dedicated_pool_bytes(memory_bytes: int, default_bytes: int) -> int:
    """The pool that a server makes with innodb_dedicated_server where its size is not set.

    Source: "Enabling Automatic InnoDB Configuration for a Dedicated MySQL Server", MySQL 8.0.
    """
    if memory_bytes < 1 << 30:
        return default_bytes
    return memory_bytes // 2 if memory_bytes <= 4 << 30 else memory_bytes * 3 // 4
