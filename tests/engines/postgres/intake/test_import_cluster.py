"""Before hours of copying: whether the database is there; and which settings an upgrade has."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.engines.intake import (
    DataPlace,
    ImportedCluster,
    Intake,
    ServerSettings,
    SettingsPlace,
)
from steelyard.engines.postgres.intake import import_cluster
from steelyard.model.errors import UsageError
from thinned import thinned

PAGE = 8192
COMMITTED, UNDECIDED = 0x0100 | 0x0800, 0


def page_of(*names: str, mask: int = COMMITTED) -> bytes:
    """A page of pg_database with a row a name; `mask`: t_infomask."""
    page, end, pointers = bytearray(PAGE), PAGE, []
    for number, name in enumerate(names):
        oid = (16384 + number).to_bytes(4, "little")
        data = oid + name.encode().ljust(64, b"\0") + (16640).to_bytes(4, "little") + bytes(60)
        head = bytearray(24)
        head[0:4] = (7).to_bytes(4, "little")
        head[20:22], head[22] = mask.to_bytes(2, "little"), 24
        end -= (24 + len(data) + 7) // 8 * 8
        page[end : end + 24 + len(data)] = head + data
        pointers.append((end | 1 << 15 | 24 + len(data) << 17).to_bytes(4, "little"))
    page[24 : 24 + 4 * len(pointers)] = b"".join(pointers)
    page[12:14] = (24 + 4 * len(pointers)).to_bytes(2, "little")
    return bytes(page)


@pytest.fixture
def content(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The pages that the file of pg_database consists of."""
    pages: list[bytes] = []

    monkeypatch.setattr(import_cluster, "control_of", lambda directory: {"block_size": PAGE})
    monkeypatch.setattr(import_cluster, "shared_catalogue", lambda *_: b"".join(pages))
    return pages


def accepts(name: str, major: int = 18) -> bool:
    try:
        import_cluster._require_database(Path("/nowhere"), name, major)
    except UsageError:
        return False
    return True


@pytest.mark.parametrize("major", [12, 18])
@pytest.mark.parametrize("mask", [COMMITTED, UNDECIDED])
@pytest.mark.parametrize("name", ["shop", "steelyard", "customershop", "s", "a" * 63, "shop2"])
def test_a_database_is_there_by_its_whole_name(
    content: list[bytes], name: str, mask: int, major: int
) -> None:
    content += [page_of("postgres", "template1"), page_of(name, mask=mask)]
    assert accepts(name, major)
    others = {name[1:], name[:-1], f"{name}x", f"x{name}", name[4:], name[8:], name.upper(), "\n"}
    for other in others - {name, ""}:
        assert not accepts(other, major), other


_NAMES = st.text("abxyz_09", min_size=1, max_size=63)


@given(names=st.lists(_NAMES, min_size=1, max_size=5), data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_part_of_a_name_is_a_database(
    content: list[bytes], names: list[str], data: st.DataObject
) -> None:
    mask = data.draw(st.sampled_from([COMMITTED, UNDECIDED]))
    content[:] = [page_of(*names, mask=mask)]
    name = data.draw(st.sampled_from(names))
    start = data.draw(st.integers(0, len(name) - 1))
    part = name[start : data.draw(st.integers(start + 1, len(name)))]
    assert accepts(part) is (part in names)


def test_the_databases_that_there_are_are_listed(content: list[bytes]) -> None:
    content.append(page_of("template0", "steelyard", "postgres"))
    with pytest.raises(UsageError, match='there is no database "yard" in it') as refused:
        import_cluster._require_database(Path("/nowhere"), "yard", 18)
    assert refused.value.detail == "There are postgres, steelyard."
    content[:] = [page_of()]
    with pytest.raises(UsageError) as refused:
        import_cluster._require_database(Path("/nowhere"), "yard", 18)
    assert refused.value.detail is None


def test_what_cannot_be_read_is_left_to_the_copy(content: list[bytes]) -> None:
    content.append(page_of("shop"))
    assert accepts("größe")
    assert accepts("nothing", 11)


def rows_of(major: int, **databases: bool) -> bytes:
    """A page of pg_database whose rows are as long as that version's; `databases`: name → whether
    it is a template."""
    at, length = (204, 236) if major < 15 else (77, 112)
    page, end, pointers = bytearray(PAGE), PAGE, []
    for oid, (name, is_template) in enumerate(databases.items(), 16384):
        data = bytearray(struct.pack("=I64s", oid, name.encode()).ljust(length, b"\0"))
        data[at] = is_template
        head = struct.pack("=II4x6xHHB", 3, 0, 0, COMMITTED, 24).ljust(24, b"\0")
        row = head + data
        end -= -(-len(row) // 8) * 8
        page[end : end + len(row)] = row
        pointers.append((end | 1 << 15 | len(row) << 17).to_bytes(4, "little"))
    page[24 : 24 + 4 * len(pointers)] = b"".join(pointers)
    page[12:14] = (24 + 4 * len(pointers)).to_bytes(2, "little")
    return bytes(page)


@thinned("major", [12, 14, 15, 17, 18], 1)
@given(
    names=st.sets(st.text("abxyz_09", min_size=1, max_size=63), max_size=5),
    templates=st.sets(st.text("klm", min_size=1, max_size=9), max_size=3),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_several_databases_of_which_none_is_named_are_refused_before_they_are_copied(
    content: list[bytes], major: int, names: set[str], templates: set[str]
) -> None:
    usual = {"postgres": False, "template0": True, "template1": True}
    own, others = dict.fromkeys(names, False), dict.fromkeys(templates, True)
    content[:] = [rows_of(major, **usual, **others), rows_of(major, **own)]
    if len(names) < 2:
        import_cluster._require_database(Path("/nowhere"), None, major)
        return
    with pytest.raises(UsageError, match="cannot choose among several databases") as refused:
        import_cluster._require_database(Path("/nowhere"), None, major)
    assert refused.value.detail == f"There are {', '.join(sorted(names))}."
    assert refused.value.hint == "Name one: --database NAME"
    for name in names:
        import_cluster._require_database(Path("/nowhere"), name, major)


@pytest.mark.parametrize(("state", "refused"), [(1, True), (2, False), (5, False), (6, False)])
def test_a_database_that_only_the_log_holds_is_not_missed(
    content: list[bytes], tmp_path: Path, state: int, refused: bool
) -> None:
    """CREATE DATABASE writes its row's page with the next checkpoint (15 and later)."""
    content.append(page_of("postgres"))
    (tmp_path / "global").mkdir()
    control = struct.pack("=QIII", 7, 1800, 202506291, state)
    (tmp_path / "global/pg_control").write_bytes(control.ljust(8192, b"\0"))
    try:
        import_cluster._require_database(tmp_path, "shop", 18)
    except UsageError:
        assert refused
    else:
        assert not refused


@pytest.mark.parametrize("how", ["none", "file", "reported"])
def test_an_upgrade_of_the_copy_has_the_settings_that_were_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "PG_VERSION").write_text("15\n")
    (directory / "postgresql.conf").write_text("max_locks_per_transaction = 100\n")
    file = tmp_path / "named.conf"
    file.write_text("max_locks_per_transaction = 4096\n")
    offered: list[ServerSettings] = []

    def known(build: object, account: object, settings: ServerSettings) -> ServerSettings:
        offered.append(settings)
        return settings

    old = SimpleNamespace(build=None, identity=SimpleNamespace(version="15.18"), account=None)
    monkeypatch.setattr(import_cluster, "select_builds", lambda requests, account: [old])
    monkeypatch.setattr(
        import_cluster, "take_in_cluster", lambda *_: ImportedCluster("shop", 1, (), ())
    )
    monkeypatch.setattr(import_cluster, "known_settings", known)
    monkeypatch.setattr(import_cluster, "carry_over", lambda *_: None)
    monkeypatch.setattr(import_cluster, "Cluster", lambda *_: None)
    place = DataPlace(directory, "base backup", "15", 1, "x")
    settings = SettingsPlace(directory, "base backup", file, reported=how == "reported")
    new = cast(Any, SimpleNamespace(build=None, account=SimpleNamespace(name="postgres")))
    intake = Intake(place, None, None if how == "none" else settings)
    slot = cast(Any, SimpleNamespace(path=tmp_path))
    imported = import_cluster._take_in_upgraded(new, intake, slot, lambda _: None)
    assert "upgraded from 15.18" in imported.doubts[-1]
    assert "statistics that it does not carry over" in imported.doubts[-1]
    [settings_used] = offered
    expected = "100" if how == "none" else "4096"
    assert settings_used.settings == {"max_locks_per_transaction": expected}
