"""Statements are told apart by the table they are about."""

from __future__ import annotations

from steelyard.workloads.loading.load import by_creation, by_table


def test_a_table_comes_with_what_follows_it() -> None:
    statements = [
        "CREATE TYPE mood AS ENUM ('sad');",
        "create unlogged table if not exists public.one (n int);",
        "CREATE TABLE one_part PARTITION OF one DEFAULT;",
        'CREATE TABLE "two" (n int);',
    ]
    before, groups = by_creation(statements, ["one", "two"])
    assert before == statements[:1]
    assert groups == {"one": statements[1:3], "two": statements[3:]}


def test_keys_of_one_table_stay_in_order() -> None:
    first = "ALTER TABLE ONLY a ADD PRIMARY KEY (n);"
    second = "CREATE UNIQUE INDEX CONCURRENTLY a_i ON a (n);"
    other = "CREATE INDEX ON b (n);"
    assert by_table([first, other, second]) == [[first, second], [other]]


def test_what_cannot_be_told_apart_stays_together() -> None:
    every = ["ALTER TABLE a ADD PRIMARY KEY (n);", "DO $$ BEGIN END $$;"]
    assert by_table(every) == [every]
