"""A change of a study, or a part of an address, that stands alone on the command line is refused
with the words to type."""

from __future__ import annotations

import pytest

from steelyard.cli.loose_change import change_of_arm, loose_change

EXTRA = "got unexpected extra argument(s) ({})"
NO_OPTION = "no such option: {}"


@pytest.mark.parametrize(
    ("primary", "words", "hint"),
    [
        (EXTRA.format("work_mem=64MB"), ["settings", "work_mem=64MB"],
         "--set arm.settings.work_mem=64MB"),
        (EXTRA.format("a jit=off"), ["settings", "a", "jit=off"], "--set arm.settings.jit=off"),
        (EXTRA.format("version=17"), ["settings", "version=17"], "--set arm.version=17"),
        (EXTRA.format("workload.scale=5"), ["aa", "workload.scale=5"], "--set workload.scale=5"),
        (EXTRA.format("arm.checksums=off"), ["aa", "arm.checksums=off"], "arm.checksums=off"),
        (EXTRA.format("auto_explain.log_analyze=on"), ["s", "auto_explain.log_analyze=on"],
         "--set arm.settings.auto_explain.log_analyze=on"),
        (EXTRA.format("jit=off"), ["s", "--set", "arm.settings.work_mem=1MB", "jit=off"],
         "--set arm.settings.jit=off"),
        (NO_OPTION.format("--work_mem (Possible options: --workload)"),
         ["settings", "--work_mem=64MB"], "--set arm.settings.work_mem=64MB"),
        (NO_OPTION.format("--random_page_cost"), ["settings", "--random_page_cost", "1.1"],
         "--set arm.settings.random_page_cost=1.1"),
        (NO_OPTION.format("--jit"), ["settings", "--jit=off"], "--set arm.settings.jit=off"),
        (NO_OPTION.format("--jit"), ["settings", "--jit", "--seed", "1"], "jit=VALUE"),
        # an address that a shell took for several words
        (EXTRA.format("port=1 user=u"),
         ["sessions", "--address", "host=h", "port=1", "user=u", "-f", "q.sql"],
         "--address 'host=h port=1 user=u'"),
        (EXTRA.format("port=1"), ["addresses", "--address=host=h", "port=1"],
         "--address 'host=h port=1'"),
        (EXTRA.format("dbname=b"), ["addresses", "--arm", "address=host=h", "dbname=b"],
         "--arm 'address=host=h dbname=b'"),
        (EXTRA.format("dbname=b"), ["checksums", "--from", "host=h", "dbname=b"],
         "--from 'host=h dbname=b'"),
    ],
)  # fmt: skip
def test_what_was_meant_is_said(primary: str, words: list[str], hint: str) -> None:
    assert hint in loose_change(primary, ["weigh", *words])


def test_no_password_of_an_address_is_shown() -> None:
    words = ["weigh", "sessions", "--address", "host=h", "password=sesame"]
    said = loose_change(EXTRA.format("password=sesame"), words)
    assert "host=h" in said
    assert "sesame" not in said


@pytest.mark.parametrize(
    ("primary", "words"),
    [
        (EXTRA.format("bb"), ["aa", "bb"]),
        (EXTRA.format("bb"), ["aa", "bb", "--set", "jit=off"]),
        (NO_OPTION.format("--budgt (Possible options: --budget)"), ["aa", "--budgt=2m"]),
        ('missing argument "record"', ["report"]),
    ],
)
def test_other_mistakes_are_none_of_these(primary: str, words: list[str]) -> None:
    assert loose_change(primary, ["weigh", *words]) == ""


@pytest.mark.parametrize(
    ("option", "change"),
    [
        ("jit=off", "arm.settings.jit=off"),
        ("version=17", "arm.version=17"),
        ("settings.jit=off", "arm.settings.jit=off"),
        ("checksums=off", "arm.checksums=off"),
        ("./patched/bin", None),
        ("/opt/a=b/bin", None),
    ],
)
def test_a_change_of_an_arm_is_told_from_a_directory(option: str, change: str | None) -> None:
    assert change_of_arm("arm", option) == change
