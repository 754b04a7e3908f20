"""What the options of `weigh` become, and the command that repeats a weighing."""

from __future__ import annotations

import pytest

from steelyard.cli.options.weigh_options import one_query_changes, repeating_command


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["weigh", "aa"], ["weigh", "aa", "--seed", "7"]),
        (["weigh", "aa", "--seed", "7"], ["weigh", "aa", "--seed", "7"]),
        (["weigh", "aa", "--seed=7"], ["weigh", "aa", "--seed=7"]),
        (["weigh", "--record", "there", "aa"], ["weigh", "aa", "--seed", "7"]),
        (["weigh", "aa", "--record=there"], ["weigh", "aa", "--seed", "7"]),
        (["weigh", "aa", "--set", "a.b=c d"], ["weigh", "aa", "--set", "a.b=c d", "--seed", "7"]),
    ],
)
def test_it_names_the_seed_and_not_the_place_of_the_record(
    arguments: list[str], expected: list[str]
) -> None:
    assert repeating_command(arguments, 7) == ("steelyard", *expected)


@pytest.mark.parametrize(
    ("study", "changes", "files", "taken"),
    [
        ("checksums", [], ["q.sql"], True),
        ("checksums", ["workload.scripts={...}"], ["q.sql"], True),
        ("checksums", [], ["a.sql", "b.sql"], False),
        ("checksums", [], None, False),
        ("checksums", ["workload.clients=4"], ["q.sql"], False),
        ("checksums", ["workload.clients_when_slow=2"], ["q.sql"], False),
        ("mine.toml", [], ["q.sql"], False),
        (None, [], ["q.sql"], False),
    ],
)
def test_a_single_script_gets_one_client_where_it_is_slow(
    study: str | None, changes: list[str], files: list[str] | None, *, taken: bool
) -> None:
    found = one_query_changes(study, changes, files)
    assert found == (["workload.clients_when_slow=1"] if taken else [])
