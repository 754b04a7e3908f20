"""What roles set for their sessions does not count in a copy, and is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import Original
from engines.postgres.intake.test_taking import rows, take
from own_cache import open_directory
from steelyard.engines.engine import Slot
from steelyard.engines.intake import ImportedCluster
from thinned import thinned

pytestmark = pytest.mark.postgres

NO_LOGIN = "SET session_preload_libraries = 'no_such_library'"
STATEMENTS = (
    "CREATE DATABASE shop",
    'CREATE DATABASE "e m"',
    "CREATE ROLE postgres SUPERUSER LOGIN",
    "ALTER ROLE postgres SET work_mem = '64MB'",
    "ALTER ROLE postgres SET app.tenant = 'S3cret'",
    f"ALTER ROLE postgres {NO_LOGIN}",
    f"ALTER ROLE postgres IN DATABASE template1 {NO_LOGIN}",
    f"ALTER ROLE postgres IN DATABASE shop {NO_LOGIN}",
    "ALTER ROLE postgres IN DATABASE shop SET work_mem = '65MB'",
    'ALTER ROLE postgres IN DATABASE "e m" SET jit = off',
    "CREATE ROLE readers",
    "ALTER ROLE readers SET jit = off",
    "CREATE ROLE elsewhere LOGIN",
    'ALTER ROLE elsewhere IN DATABASE "e m" SET jit = off',
)
CLEARED = {
    "ALTER ROLE postgres SET work_mem",
    "ALTER ROLE postgres SET app.tenant",
    "ALTER ROLE postgres SET session_preload_libraries",
    "ALTER ROLE postgres IN DATABASE shop SET session_preload_libraries",
    "ALTER ROLE postgres IN DATABASE shop SET work_mem",
    "ALTER ROLE postgres IN DATABASE e m SET jit",
}
DUMP = """
CREATE TABLE t (a int);
CREATE ROLE app LOGIN;
ALTER ROLE app SET jit = off;
ALTER ROLE ALL SET work_mem = '63MB';
ALTER USER postgres SET jit = off;
DO $$ BEGIN
  EXECUTE format('ALTER DATABASE %I SET work_mem = ''61MB''', current_database());
  EXECUTE format('ALTER ROLE postgres IN DATABASE %I SET jit = off', current_database());
  ALTER ROLE CURRENT_USER SET geqo = off;
END $$;
"""


@pytest.fixture
def original() -> Iterator[Original]:
    """A stopped server whose roles set what they like."""
    with open_directory() as home:
        made = original_at(home)
        made.make()
        with made.running():
            for statement in STATEMENTS:
                made.ask(statement)
            for number in range(1, 8):
                made.ask(f"CREATE ROLE app{number} LOGIN")
                made.ask(f"ALTER ROLE app{number} SET jit = off")
            made.ask("ALTER ROLE app1 IN DATABASE shop SET work_mem = '3MB'")
        yield made


SECURED = (
    "CREATE TABLE orders (id int, tenant text)",
    "ALTER TABLE orders ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY own ON orders USING (tenant = current_user)",
    "CREATE TABLE open (id int)",
)


@thinned("of_a_dump", [True, False], 1)
def test_tables_whose_policies_do_not_hold_for_our_role_are_named(
    made_of: Callable[..., object], slot: Slot, original: Original, tmp_path: Path, of_a_dump: bool
) -> None:
    place = original.directory
    if of_a_dump:
        place = tmp_path / "dump.sql"
        place.write_text("".join(f"{statement};\n" for statement in SECURED))
    else:
        with original.running():
            for statement in SECURED:
                original.ask(statement, "shop")
    engine = made_of("18").engine  # type: ignore[attr-defined]
    imported, _ = take(engine, place, slot, None if of_a_dump else "shop")
    [doubt] = [doubt for doubt in imported.doubts if "row security" in doubt]
    assert "the policies of orders are not weighed, unless a script says SET ROLE" in doubt


@pytest.mark.long
def test_schemas_that_roles_find_by_their_names_are_named(
    made_of: Callable[..., object], slot: Slot, original: Original
) -> None:
    with original.running():
        for statement in (
            "CREATE ROLE tenant LOGIN", "CREATE SCHEMA tenant", "CREATE TABLE tenant.t (a int)",
            "CREATE ROLE idle LOGIN", "CREATE SCHEMA idle", "CREATE SCHEMA other",
            "CREATE TABLE other.t (a int)",
        ):  # fmt: skip
            original.ask(statement, "shop")
    engine = made_of("18").engine  # type: ignore[attr-defined]
    imported, _ = take(engine, original.directory, slot)
    [doubt] = [doubt for doubt in imported.doubts if "$user" in doubt]
    assert "which does not: tenant; --set settings.search_path=tenant,public" in doubt


def cleared_role_settings(imported: ImportedCluster) -> list[str]:
    """Settings of roles among what a copy is without."""
    return [left.what for left in imported.neutralised if left.what.startswith("ALTER ")]


@pytest.mark.long
def test_what_our_role_sets_is_cleared_and_what_others_set_is_named(
    made_of: Callable[..., object], slot: Slot, original: Original
) -> None:
    engine = made_of("18").engine  # type: ignore[attr-defined]
    imported, copy = take(engine, original.directory, slot)
    copy.start(slot, {"work_mem": "8MB"})
    try:
        for database in ("steelyard", "postgres"):
            assert rows(copy, "SHOW work_mem", database) == [("8MB",)]
        assert rows(copy, "SHOW jit", "'e m'") == [("on",)]
        assert copy.settings()["work_mem"] == "8192 kB"
    finally:
        copy.stop()
    assert sorted(cleared_role_settings(imported)) == sorted(CLEARED)
    assert "S3cret" not in str(imported)
    roles = "app1 (jit, work_mem), app2 (jit), app3 (jit), app4 (jit), app5 (jit), and 2 more"
    [doubt] = [doubt for doubt in imported.doubts if "ALTER ROLE" in doubt]
    assert doubt == (
        "scripts run as postgres, without what roles set for their own sessions (ALTER ROLE): "
        f"{roles}; --set settings.NAME=VALUE weighs with a value"
    )


def test_what_a_dump_sets_for_roles_is_left_out_and_what_it_sets_in_a_block_is_named(
    made_of: Callable[..., object], slot: Slot, tmp_path: Path
) -> None:
    dump = tmp_path / "init.sql"
    dump.write_text(DUMP)
    engine = made_of("18").engine  # type: ignore[attr-defined]
    imported, copy = take(engine, dump, slot, None)
    copy.start(slot, {})
    try:
        assert rows(copy, "SHOW jit") == rows(copy, "SHOW geqo") == [("on",)]
        assert rows(copy, "SHOW work_mem") == [("61MB",)]
        assert rows(copy, "SHOW work_mem", "postgres") == [("4MB",)]
    finally:
        copy.stop()
    assert cleared_role_settings(imported) == [
        "ALTER ROLE app SET jit",
        "ALTER ROLE ALL SET work_mem",
        "ALTER USER postgres SET jit",
        "ALTER ROLE postgres SET geqo",
        "ALTER ROLE postgres IN DATABASE steelyard SET jit",
    ]
    assert any("the database itself sets work_mem (" in doubt for doubt in imported.doubts)


@pytest.mark.long
def test_libraries_of_a_database_that_the_build_lacks_do_not_lock_it(
    made_of: Callable[..., object], slot: Slot
) -> None:
    """As of `anon` and `pg_hint_plan`, which are installed so; `plpgsql` stands for one it has."""
    engine = made_of("18").engine  # type: ignore[attr-defined]
    with open_directory() as home:
        original = original_at(home)
        original.make()
        with original.running():
            original.ask("CREATE DATABASE shop")
            original.ask("CREATE DATABASE other")
            libraries = "plpgsql, 'no_such_library', \"$libdir/nor_this\""
            original.ask(f"ALTER DATABASE shop SET session_preload_libraries = {libraries}")
            original.ask("ALTER DATABASE other SET session_preload_libraries = no_such_library")
        imported, copy = take(engine, original.directory, slot)
    copy.start(slot, {})
    try:
        assert rows(copy, "SHOW session_preload_libraries") == [("plpgsql",)]
        assert rows(copy, "SHOW session_preload_libraries", "other") == [("",)]
    finally:
        copy.stop()
    what = [left.what for left in imported.neutralised if "preload" in left.what]
    assert what == [
        "no_such_library in session_preload_libraries of database other",
        "no_such_library in session_preload_libraries of database shop",
        "$libdir/nor_this in session_preload_libraries of database shop",
    ]


@pytest.mark.long
def test_a_library_of_a_database_at_a_path_of_its_own_is_not_loaded(
    made_of: Callable[..., object], slot: Slot
) -> None:
    """The data may bring it: with it here, each session would end at a file that is no library."""
    engine = made_of("18").engine  # type: ignore[attr-defined]
    with open_directory() as home:
        evil = home / "evil.so"
        evil.write_bytes(b"no library")
        evil.chmod(0o755)
        original = original_at(home)
        original.make()
        with original.running():
            original.ask("CREATE DATABASE shop")
            libraries = f"plpgsql, '{evil}'"
            original.ask(f"ALTER DATABASE shop SET session_preload_libraries = {libraries}")
        imported, copy = take(engine, original.directory, slot)
        copy.start(slot, {})
        try:
            assert rows(copy, "SHOW session_preload_libraries") == [("plpgsql",)]
        finally:
            copy.stop()
    what = [left.what for left in imported.neutralised if "preload" in left.what]
    assert what == [f"{evil} in session_preload_libraries of database shop"]


def test_a_template_that_admits_no_connections_does_not_lock_the_copy(
    made_of: Callable[..., object], slot: Slot
) -> None:
    engine = made_of("18").engine  # type: ignore[attr-defined]
    with open_directory() as home:
        original = original_at(home)
        original.make()
        with original.running():
            original.ask("CREATE DATABASE shop")
            original.ask("ALTER DATABASE template1 ALLOW_CONNECTIONS false")
        imported, _ = take(engine, original.directory, slot)
    assert imported.database == "shop"
