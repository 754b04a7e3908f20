"""Texts that may be sorted otherwise on this machine are a doubt, those sorted by bytes never."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.test_taking import take
from own_cache import open_directory
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.intake import recover
from steelyard.engines.postgres.intake.recover import _collation_doubts
from thinned import thinned


class Catalogue:
    """A session in which every query has these rows."""

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self._rows = rows

    def execute(self, *_: object) -> Catalogue:
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._rows)


UNRECORDED = "by {} of a library whose version is not recorded"


@pytest.mark.parametrize("version", [140018, 150000, 180000])
@pytest.mark.parametrize(
    ("provider", "locale", "recorded", "here", "words"),
    [
        ("c", "en_US.utf8", None, "2.41", UNRECORDED),
        ("c", "en_US.utf8", None, None, UNRECORDED),
        ("c", "de_DE", None, "2.41", UNRECORDED),
        ("c", "en_US.utf8", "2.36", "2.41", "by {} of version 2.36, here it is 2.41"),
        ("c", "en_US.utf8", "2.36", None, "by {} of version 2.36, here it is unknown"),
        ("c", "en_US.utf8", "2.41", "2.41", None),
        *(("c", locale, None, None, None) for locale in ("C", "POSIX", "C.UTF-8", "c.utf8")),
        ("i", "de", "153.80", "153.120", "by {} of version 153.80, here it is 153.120"),
        ("i", "C", None, "153.120", UNRECORDED),
        ("i", "de", "153.120", "153.120", None),
        ("b", "C.UTF-8", "1", "1", None),
        ("b", "C.UTF-8", None, "1", None),
    ],
)
def test_texts_are_doubted_where_another_library_sorted_them_or_nothing_is_recorded(
    version: int, provider: str, locale: str, recorded: str | None, here: str | None,
    words: str | None,
) -> None:  # fmt: skip
    session: Any = Catalogue((provider, locale, recorded, here))
    doubts = list(_collation_doubts(session, version))
    assert len(doubts) == (words is not None)
    for doubt in doubts:
        assert doubt.startswith(f"its texts were sorted {str(words).format(locale)}")
        assert "searches by an index on text may find too little" in doubt


THEIRS = {
    "unrecorded": ("en_US.utf8", "NULL", "of a library whose version is not recorded"),
    "of another": ("en_US.utf8", "'2.1'", "of version 2.1, here it is 2."),
    "by bytes": ("C", "'2.1'", None),
    "Without An Index": ("en_US.utf8", "NULL", None),
}
"""Collation -> its locale and version as they were recorded, and what is said of it."""


@pytest.mark.postgres
@thinned("version", ["18", "16", "15"], 1)
def test_collations_of_indexes_and_the_databases_own_are_looked_up_on_every_version(
    made_of: Callable[..., object],
    slot: Slot,
    version: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = made_of(version).engine  # type: ignore[attr-defined]
    with open_directory() as home:
        original = original_at(home, version)
        original.make()
        with original.running():
            original.ask("CREATE DATABASE shop")
            original.ask("CREATE TABLE words (word text)", "shop")
            for number, (name, (locale, recorded, words)) in enumerate(THEIRS.items()):
                theirs = f"CREATE COLLATION \"{name}\" (provider = libc, locale = 'C.utf8')"
                original.ask(theirs, "shop")
                if words is not None or locale == "C":
                    index = f"CREATE INDEX words{number} ON words"
                    original.ask(f'{index} (word COLLATE "{name}")', "shop")
                original.ask(
                    f"UPDATE pg_collation SET collcollate = '{locale}', collversion = {recorded}"
                    f" WHERE collname = '{name}'",
                    "shop",
                )
        imported, _ = take(engine, original.directory, slot)
        doubts = [doubt for doubt in imported.doubts if "sorted" in doubt]
        expected = [(name, *facts) for name, facts in sorted(THEIRS.items()) if facts[2]]
        assert len(doubts) == len(expected)
        for doubt, (name, locale, _, words) in zip(doubts, expected, strict=True):
            quoted = f'"{name}"' if " " in name else name
            assert doubt.startswith(
                f"indexes of collation {quoted} were sorted by {locale} {words}"
            )
        # No other locale is on every machine: C stands for one here.
        shutil.rmtree(slot.path / "data")
        monkeypatch.setattr(recover, "_BYTEWISE", re.compile("no such locale"))
        imported, _ = take(engine, original.directory, slot)
        assert "its texts were sorted by C of a library" in "\n".join(imported.doubts)
