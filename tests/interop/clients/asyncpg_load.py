"""Puts the load of the interop tests on a server by asyncpg: PORT USER LOOPS."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import sys

import asyncpg  # type: ignore[import-not-found]

port, user, loops = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])


async def load() -> None:
    session = await asyncpg.connect(host="127.0.0.1", port=port, user=user, database="postgres")
    for i in range(loops):
        key = i % 1000 + 1
        await session.fetchval("SELECT name FROM items WHERE id = $1", key)
        await session.fetchval(
            "SELECT count(*) FROM items WHERE name LIKE $1 AND ($2::int IS NULL OR id > $2)",
            "it%",
            None if i % 2 else key,
        )
        async with session.transaction():
            await session.fetchval("SELECT price FROM items WHERE id = $1", key)
            price = decimal.Decimal("1.5")
            await session.execute("UPDATE items SET price = price + $1 WHERE id = $2", price, key)
        await session.fetchval(
            "INSERT INTO notes (item, body) VALUES ($1, $2) RETURNING id", key, f"it's :p1 \\ ü {i}"
        )
        await session.fetch("SELECT id FROM items WHERE id = ANY($1)", [key, 2, 3])
        now = datetime.datetime.now(datetime.UTC)
        await session.fetchval("SELECT count(*) FROM items WHERE made < $1", now)
        await session.fetch("SELECT id FROM items WHERE tags = $1", ["a", None, 'b"c'])
        if i % 20 == 0:
            try:
                await session.fetchval("SELECT 1 / $1::int", 0)
            except asyncpg.DivisionByZeroError:
                continue
    await session.close()


asyncio.run(load())
