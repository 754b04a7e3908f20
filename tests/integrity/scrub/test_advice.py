"""Damage of every kind of file gets advice that fits it, and a query that names its database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from integrity.conftest import Made, execute, running
from steelyard.cli.views.scrubbed import render
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.sql.relation_files import Relation
from steelyard.integrity.scrub.advice import (
    finding_facts,
    inspection,
    inspection_sql,
    repair_advice,
)
from steelyard.integrity.scrub.finding import Damage
from steelyard.integrity.scrub.outcome import ScrubRequest
from steelyard.integrity.scrub.scrub import scrub

HEAP = Damage("base/5/16391", 3, "main", "checksum", database=5, filenode=16391, tablespace=1663)
TABLE = Relation("shop", "public.orders", "r")
MAPPED = replace(HEAP, catalogue=1259)
VM = replace(HEAP, fork="vm")
LOOK = "SELECT pg_filenode_relation(1663, 16391)"
INDEX = Relation("shop", "public.orders_pkey", "i", "public.orders")
CASES = [
    (HEAP, "See above what it is: an index is made anew by REINDEX", "REINDEX INDEX"),
    (replace(HEAP, relation=TABLE), "save what can be read of public.orders", "See above"),
    (replace(HEAP, relation=INDEX), "REINDEX INDEX public.orders_pkey", "backup"),
    (replace(HEAP, path="base/5/t3_99"), "temporary table", "Fail over"),
    (replace(HEAP, path="base/5/t3_99", reason="short"), "no backup has it", "restore"),
    (replace(HEAP, path="base/5/t3_99", reason="missing segment"), "temporary", "restore"),
    (replace(HEAP, unlogged=True), "a standby has nothing of it", "Fail over"),
    (replace(HEAP, unlogged=True, reason="short"), "TRUNCATE it and load it again", "fail over"),
    (replace(HEAP, unlogged=True, relation=INDEX), "REINDEX INDEX", "TRUNCATE"),
    (replace(HEAP, fork="init", unlogged=True), "reset to after a crash", "Fail over"),
    (replace(HEAP, fork="fsm"), "VACUUM the table", "Fail over"),
    (
        replace(HEAP, fork="vm", relation=TABLE),
        "pg_truncate_visibility_map('public.orders')",
        "NAME",
    ),
    (VM, "pg_truncate_visibility_map('NAME')", "the relation"),
    (MAPPED, "system catalogue", "See above"),
    (replace(HEAP, reason="backwards"), "A write was lost", "TRUNCATE"),
    (replace(HEAP, reason="unreadable"), "The device could not read it", "REINDEX"),
    (replace(HEAP, reason="unreadable", path="base/5/t3_99"), "The device", "vanishes"),
    (replace(HEAP, reason="short"), "restore the file from a backup", "REINDEX"),
    (replace(HEAP, reason="missing file"), "restore the file from a backup", "REINDEX"),
    (replace(HEAP, reason="missing file", kind="i"), "REINDEX INDEX makes its file", "backup"),
    (replace(HEAP, reason="missing file", unlogged=True), "TRUNCATE makes the file", "standby"),
    (replace(MAPPED, reason="missing file"), "system catalogue", "TRUNCATE"),
    (replace(HEAP, reason="missing database"), "Every table of that database", "REINDEX"),
    (replace(HEAP, reason="relation map"), "the database cannot open", "server cannot start"),
    (replace(HEAP, reason="relation map", database=0), "the server cannot start", "database"),
    (replace(HEAP, needs_replay=True, unlogged=True), "recovery makes it right", "TRUNCATE"),
]


@pytest.mark.parametrize(("finding", "advised", "not_advised"), CASES)
def test_advice_is_for_the_kind_of_file(finding: Damage, advised: str, not_advised: str) -> None:
    words = repair_advice(finding)
    assert advised in words
    assert not_advised not in words


@pytest.mark.parametrize(
    ("finding", "look"),
    [
        (
            replace(HEAP, database_name="shop"),
            "in database shop: SELECT pg_filenode_relation(1663, 16391)",
        ),
        (
            HEAP,
            "in the database with OID 5 (SELECT datname FROM pg_database WHERE oid = 5): "
            "SELECT pg_filenode_relation(1663, 16391)",
        ),
        (
            replace(HEAP, path="global/1262", database=0, tablespace=1664, filenode=1262),
            "in any database: SELECT pg_filenode_relation(1664, 1262)",
        ),
        (
            replace(HEAP, tablespace=16400, database_name="shop"),
            "in database shop: SELECT pg_filenode_relation(16400, 16391)",
        ),
        (replace(HEAP, path="base/5/t3_99"), ""),
        (replace(HEAP, reason="missing file"), ""),
    ],
)
def test_the_query_names_the_database_to_connect_to(finding: Damage, look: str) -> None:
    assert inspection(finding) == look


def test_the_query_of_a_named_relation_is_for_its_own_database() -> None:
    look = inspection(replace(HEAP, relation=TABLE, database_name="other"))
    assert look.startswith("in database shop: SET ignore_checksum_failure = on; SELECT ctid, *")


@pytest.mark.long
@pytest.mark.postgres
def test_the_query_finds_every_kind_of_relation_on_a_real_server(
    made: Made, cluster: Cluster
) -> None:
    with running(made) as alive:
        rows = execute(
            alive,
            "SELECT relname, pg_relation_filenode(c.oid)::int8, d.oid::int8, "
            "CASE WHEN relisshared THEN 1664 ELSE 1663 END "
            "FROM pg_class c, pg_database d WHERE d.datname = current_database() AND relname IN "
            "('plain', 'plain_pkey', 'passing', 'pg_class', 'pg_database', 'pg_proc')",
        )
        assert len(rows) == 6
        for name, filenode, database, tablespace in rows:
            place = {"database": database, "tablespace": tablespace, "filenode": filenode}
            [(shown,)] = execute(alive, inspection_sql(replace(HEAP, **place)) + "::text")
            assert shown == name


@pytest.mark.long
@pytest.mark.postgres
def test_names_of_databases_are_read_without_a_server(made: Made, cluster: Cluster) -> None:
    with running(made) as alive:
        execute(alive, 'CREATE DATABASE "own name"')
        [(oid,)] = execute(alive, "SELECT oid::int8 FROM pg_database WHERE datname = 'own name'")
    file = cluster.directory / f"base/{oid}/112"  # pg_foreign_data_wrapper_oid_index
    content = bytearray(file.read_bytes())
    content[5000] ^= 1
    file.write_bytes(content)
    outcome = scrub(ScrubRequest(cluster.directory), lambda *_: None)
    [finding] = outcome.bad
    assert finding.database_name == "own name"
    assert "    look: in database own name: SELECT pg_filenode_relation(1663, 112)" in render(
        outcome
    )
    assert finding_facts(finding)["database"] == "own name"
    assert finding_facts(finding)["database_oid"] == oid
