"""A scrub and MySQL's own import of a tablespace agree on pages with `innodb`, `none` and crc32.

`ALTER TABLE ... IMPORT TABLESPACE` reads every page of a file and refuses it at the first wrong one
(PageConverter of row0import.cc): the oracle where innochecksum does not know the algorithm.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pymysql
import pytest

from integrity.innodb.damage import KINDS, split
from integrity.innodb.instances import Connection, instance, make_table, unpack
from own_cache import open_directory
from steelyard._core import scan_innodb, walk_innodb
from steelyard.engines.account import choose_account

pytestmark = pytest.mark.long

SEEDS = 3
WITH_CHECKSUM = tuple(name for name in KINDS if name not in ("zeroed", "misplaced"))
"""What is tried with a checksum. A page that is lost, or sound in another's place, passes the check
of pages, and the import that then misses what was on it may end the server."""
WITHOUT_CHECKSUM = ("header_bit", "lsn_bit", "trailer_bit", "torn", "zeroed_half", "zeroed")
"""What is tried under `none`: the import follows the records, and damaged ones end the server."""


@pytest.mark.parametrize("algorithm", ["innodb", "none", "crc32"])
def test_the_server_refuses_what_the_scrub_calls_damaged(algorithm: str, tmp_path: Path) -> None:
    kinds = WITHOUT_CHECKSUM if algorithm == "none" else WITH_CHECKSUM
    with open_directory() as home:
        one = instance(unpack(home), home / "i", f"--innodb-checksum-algorithm={algorithm}")
        with one.running() as connection:
            connection.cursor().execute("create database d")
            connection.select_db("d")
            make_table(connection, "t", "", 120)
        sound = (one.data / "d/t.ibd").read_bytes()
        pages = split(sound, 16384)
        with one.running() as connection:
            connection.select_db("d")
            assert _imports(connection, one.data / "d/t.ibd", sound)
            for name in kinds:
                for seed in range(SEEDS):
                    draw = random.Random(f"{name} {seed}")
                    number = draw.choice([n for n, page in enumerate(pages) if n and any(page)])
                    changed = list(pages)
                    changed[number] = KINDS[name](pages, number, draw)
                    content = b"".join(changed)
                    ours = _reasons(tmp_path, content)
                    accepted = _imports(connection, one.data / "d/t.ibd", content)
                    case = (algorithm, name, seed, number, ours, accepted)
                    assert set(ours) <= {number}, case
                    if algorithm != "none":
                        assert ours, case
                    # Under `none` the server does not look at what stands for a checksum. A lost
                    # page is sound, and the import may miss what was on it.
                    overlooked = algorithm == "none" and ours == {number: "checksum"}
                    if name != "zeroed" and not overlooked:
                        assert accepted == (not ours), case


def _imports(connection: Connection, file: Path, content: bytes) -> bool:
    """Whether the server takes a file in the place of the table's."""
    with connection.cursor() as cursor:
        cursor.execute("alter table t discard tablespace")
        file.write_bytes(content)
        choose_account().own(file)
        try:
            cursor.execute("alter table t import tablespace")
        except pymysql.err.MySQLError:
            file.unlink()
            return False
    return True


def _reasons(work: Path, content: bytes) -> dict[int, str]:
    shutil.rmtree(work / "d", ignore_errors=True)
    (work / "d").mkdir()
    (work / "d/t.ibd").write_bytes(content)
    files, _, _ = walk_innodb(work)
    found = scan_innodb(
        files, {"threads": 1, "max_rate": None, "idle": False, "gaps_s": []}, lambda *_: None
    )
    return {page: reason for _, page, reason, *_ in found["wrong"]}
