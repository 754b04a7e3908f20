"""A scrub beside a server that writes calls nothing damaged but what is."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from integrity.innodb.instances import Connection, instance, make_table, unpack
from own_cache import open_directory
from steelyard.integrity.innodb.outcome import InnodbOutcome
from steelyard.integrity.innodb.scrub import InnodbRequest, scrub_innodb

pytestmark = pytest.mark.long

SMALL_POOL = ("--innodb-buffer-pool-size=6M", "--innodb-page-size=16k")
ROUNDS = 4


@pytest.mark.parametrize("maria", [False, True])
def test_a_server_that_writes_has_no_damaged_pages_but_real_ones(maria: bool) -> None:
    with open_directory() as home:
        one = instance(unpack(home), home / "i", *SMALL_POOL, maria=maria)
        with one.running() as connection:
            connection.cursor().execute("create database d")
            connection.select_db("d")
            make_table(connection, "still", "", 100)
        victim = one.data / "d/still.ibd"
        content = bytearray(victim.read_bytes())
        content[5 * 16384 + 5000] ^= 1
        with one.running() as connection:
            connection.select_db("d")
            make_table(connection, "busy", "", 500)
            victim.write_bytes(content)
            done = threading.Event()
            writer = threading.Thread(target=_write, args=(connection, done))
            writer.start()
            try:
                outcomes = [_scrub(one.data) for _ in range(ROUNDS)]
            finally:
                done.set()
                writer.join()
        for outcome in outcomes:
            assert outcome.life == "running"
            found = [(each.path, each.block, each.reason) for each in outcome.bad]
            assert found == [("d/still.ibd", 5, "checksum")]
        assert _scrub(one.data).life == "stopped"


def _write(connection: Connection, done: threading.Event) -> None:
    number = 0
    with connection.cursor() as cursor:
        while not done.is_set():
            number += 1
            cursor.execute(
                "update busy set big = repeat(%s, 20000) where id = %s",
                (chr(65 + number % 26), number * 7 % 500),
            )


def _scrub(data: Path) -> InnodbOutcome:
    return scrub_innodb(InnodbRequest(data, max_rate=0, gaps_s=(0.5, 1.0)), lambda *_: None)
