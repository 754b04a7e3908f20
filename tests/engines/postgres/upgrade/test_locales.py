"""A locale that is missing is said before anything is copied, by what needs it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import Original
from steelyard.engines.postgres.life.catalogue_rows import DatabaseLocale, database_locales
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.upgrade.original_state import (
    has_icu,
    has_locale,
    locales_of,
    require_locales,
)
from steelyard.engines.postgres.upgrade.rehearsal import UpgradeRequest, rehearse
from steelyard.model.errors import EngineError
from thinned import thinned

pytestmark = pytest.mark.postgres
ABSENT = "x_NOWHERE.utf8"


def made_at(home: Path, version: str, *options: str) -> Original:
    original = original_at(home, version)
    original.make(*options)
    return original


@thinned("version", ["15", "16", "18"], 1)
def test_locales_are_those_that_the_server_reports(version: str, home: Path) -> None:
    """A row that was deleted is none: a database was dropped."""
    original = made_at(home, version, "--lc-ctype=C.utf8")
    with original.running():
        for statement in (
            "CREATE DATABASE plain TEMPLATE template0 LC_CTYPE 'C'",
            "CREATE DATABASE gone TEMPLATE template0 LC_CTYPE 'POSIX'",
            "DROP DATABASE gone",
        ):
            original.ask(statement)
        reported = original.ask("SELECT datname, datlocprovider::text, datcollate, datctype"
                                " FROM pg_database ORDER BY 1")  # fmt: skip
    read = locales_of(original.directory, 8192, int(version))
    found = sorted((each.name, each.provider, each.collate, each.ctype) for each in read)
    assert found == [tuple(row) for row in reported]
    assert ("plain", "c", "C", "C") in found
    assert ("postgres", "c", "C", "C.utf8") in found


def test_names_of_64_bytes_are_those_of_versions_before_15() -> None:
    name, collate, ctype = b"shop", b"de_DE.utf8", b"C"
    row = bytes(4) + name.ljust(64, b"\0") + bytes(8) + collate.ljust(64, b"\0")
    row += ctype.ljust(64, b"\0") + bytes(24)
    header = struct.pack("=II4x6xHHB", 3, 0, 0, 0x0100 | 0x0800, 24) + b"\0"
    page = bytearray(8192)
    item = header + row
    page[8192 - 320 : 8192 - 320 + len(item)] = item
    page[12:14] = (28).to_bytes(2, "little")
    page[24:28] = ((8192 - 320) | 1 << 15 | len(item) << 17).to_bytes(4, "little")
    assert database_locales(bytes(page), Path("/nowhere"), 8192, 14) == [
        DatabaseLocale("shop", "c", "de_DE.utf8", "C")
    ]


def test_a_locale_that_this_machine_lacks_is_refused_with_its_databases() -> None:
    assert has_locale("C.utf8")
    assert not has_locale(ABSENT)
    builds = [find_postgres("18")]
    there = [DatabaseLocale("shop", "c", "C", "C.utf8"), DatabaseLocale("a", "b", "C", "C")]
    require_locales(there, builds)
    lacking = [DatabaseLocale("texts", "c", ABSENT, "C"), DatabaseLocale("t", "c", "C", ABSENT)]
    with pytest.raises(EngineError, match="lacks locale") as refused:
        require_locales([*there, *lacking], builds)
    assert f'"{ABSENT}" (database texts, t)' in refused.value.primary
    assert "locale -a" in str(refused.value.hint)


def test_a_locale_of_icu_needs_a_build_with_icu() -> None:
    bundled: Postgres = find_postgres("bundle-18")
    assert not has_icu(bundled.identity.configure, 180004)
    assert has_icu("'--with-openssl'", 160000)
    assert has_icu("'--with-icu'", 150000)
    assert not has_icu("'--with-openssl'", 150000)
    with pytest.raises(EngineError, match="database shop has a locale of ICU"):
        require_locales([DatabaseLocale("shop", "i", "C", "C")], [bundled])


def test_a_cluster_of_icu_is_refused_before_it_is_copied(home: Path) -> None:
    original = made_at(home, "15", "--locale-provider=icu", "--icu-locale=de")
    reports: list[str] = []
    with pytest.raises(EngineError, match="was made without ICU"):
        rehearse(UpgradeRequest(original.directory, "bundle-18", ("copy",)), reports.append)
    assert reports == []
