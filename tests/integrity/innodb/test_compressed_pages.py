"""Pages that a server compressed or encrypted are verified, or named as not verified."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from integrity.innodb.instances import downloaded, instance, make_table, unpack
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


def test_pages_encrypted_under_full_crc32_are_verified() -> None:
    with open_directory() as home:
        trees = unpack(home)
        package = downloaded(home / "plugins", "mariadb-server")
        subprocess.run(["dpkg", "-x", package, home / "plugins/tree"], check=True)
        (home / "keys").write_text(f"1;{'a7' * 16}\n", encoding="utf-8")
        subprocess.run(["chmod", "-R", "a+rX", home], check=True)
        [plugin] = (home / "plugins/tree").rglob("file_key_management.so")
        options = (
            f"--plugin-dir={plugin.parent}",
            "--plugin-load-add=file_key_management",
            f"--file-key-management-filename={home / 'keys'}",
        )
        one = instance(trees, home / "i", *options, maria=True)
        with one.running() as connection:
            connection.cursor().execute("create database d")
            connection.select_db("d")
            make_table(connection, "t", "encrypted=yes", 300)
            make_table(connection, "both", "encrypted=yes page_compressed=1", 300)
        content = (one.data / "d/t.ibd").read_bytes()
        assert content[9 * 16384 : 9 * 16384 + 4] == (1).to_bytes(4, "big"), "the key's version"
        outcome = scrub_innodb(InnodbRequest(one.data), lambda *_: None)
        assert (outcome.bad, outcome.not_verified) == ((), 0)
        for name in ("d/t.ibd", "d/both.ibd"):
            [table] = [each for each in outcome.tablespaces if each.path == name]
            assert table.pages["full_crc32"] > 50, table.pages
        assert _bad_with_a_bit_flipped(one.data, "d/t.ibd") == {("d/t.ibd", 9)}


def _bad_with_a_bit_flipped(data: Path, label: str) -> set[tuple[str, int]]:
    file = data / label
    content = bytearray(file.read_bytes())
    content[9 * 16384 + 60] ^= 1
    file.write_bytes(content)
    outcome = scrub_innodb(InnodbRequest(data), lambda *_: None)
    return {(each.path, each.block) for each in outcome.bad}
