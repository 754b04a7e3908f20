"""Puts the load of the interop tests on a server by psycopg: PORT USER LOOPS."""

from __future__ import annotations

import datetime
import sys

import psycopg

port, user, loops = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with psycopg.connect(
    f"host=127.0.0.1 port={port} user={user} dbname=postgres", autocommit=True
) as session:
    for i in range(loops):
        key = i % 1000 + 1
        session.execute("SELECT name FROM items WHERE id = %s", [key])
        session.execute(
            "SELECT count(*) FROM items WHERE name LIKE %(like)s"
            " AND (%(least)s::int IS NULL OR id > %(least)s)",
            {"like": "it%", "least": None if i % 2 else key},
        )
        with session.transaction():
            session.execute("SELECT price FROM items WHERE id = %s", [key])
            session.execute("UPDATE items SET price = price + %s WHERE id = %s", [1.5, key])
        session.execute(
            "INSERT INTO notes (item, body) VALUES (%s, %s) RETURNING id",
            [key, f"it's :p1 \\ ü {i}"],
        )
        session.execute("SELECT id FROM items WHERE id = ANY(%s)", [[key, 2, 3]])
        session.execute("SELECT count(*) FROM items WHERE made < %s", [datetime.datetime.now()])
        session.execute(f"SELECT count(*) FROM items WHERE id < {key} AND active".encode())
        if i % 20 == 0:
            try:
                session.execute("SELECT 1 / %s", [0])
            except psycopg.errors.DivisionByZero:
                continue
