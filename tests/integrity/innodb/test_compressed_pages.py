"""Pages that a server compressed one by one are verified, or named as not verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from integrity.innodb.instances import instance, make_table, unpack
from own_cache import open_directory
from steelyard.integrity.innodb.scrub import InnodbRequest, scrub_innodb

pytestmark = pytest.mark.long

UNVERIFIED = "not verified: compressed"
CASES = {
    "mysql": (False, "crc32", "compression='zlib'", UNVERIFIED),
    "mariadb crc32": (True, "crc32", "page_compressed=1", UNVERIFIED),
    "mariadb full_crc32": (True, "full_crc32", "page_compressed=1", "full_crc32"),
}


@pytest.mark.parametrize("name", CASES)
def test_compressed_pages_are_sound_or_named(name: str) -> None:
    maria, algorithm, option, wanted = CASES[name]
    with open_directory() as home:
        one = instance(
            unpack(home), home / "i", f"--innodb-checksum-algorithm={algorithm}", maria=maria
        )
        with one.running() as connection:
            connection.cursor().execute("create database d")
            connection.select_db("d")
            make_table(connection, "t", option, 300)
        outcome = scrub_innodb(InnodbRequest(one.data), lambda *_: None)
        assert outcome.bad == ()
        [table] = [each for each in outcome.tablespaces if each.path == "d/t.ibd"]
        assert table.pages[wanted] > 50, table.pages
        assert any("are compressed" in note for note in outcome.notes) == (wanted == UNVERIFIED)
        if wanted != UNVERIFIED:
            assert _bad_with_a_bit_flipped(one.data, "d/t.ibd") == {("d/t.ibd", 9)}


def _bad_with_a_bit_flipped(data: Path, label: str) -> set[tuple[str, int]]:
    file = data / label
    content = bytearray(file.read_bytes())
    content[9 * 16384 + 60] ^= 1
    file.write_bytes(content)
    outcome = scrub_innodb(InnodbRequest(data), lambda *_: None)
    return {(each.path, each.block) for each in outcome.bad}
