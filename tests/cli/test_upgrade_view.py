"""A rehearsed upgrade is one page: may we, what it costs, what to do; in 80 columns."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from engines.postgres.upgrade.test_outcome import OUTCOME
from steelyard.cli.views.upgrades.sections import (
    Commands,
    Section,
    SectionTable,
    html_page,
    markdown,
    terminal_text,
)
from steelyard.cli.views.upgrades.upgrade_view import (
    answer_sentence,
    output_sections,
    upgrade_sections,
)
from steelyard.engines.postgres.upgrade.outcome import RehearsalFinding, SettingChange

BLOCKED = replace(
    OUTCOME,
    findings=(
        RehearsalFinding("note", "tablespace 16390 at /mnt/fast stays there"),
        RehearsalFinding(
            "blocks",
            'prepared transaction "order 7" in database "shop"',
            "pg_upgrade refuses it.",
            ("psql -d shop -c \"ROLLBACK PREPARED 'order 7'\"",),
        ),
    ),
    settings=(
        SettingChange("promote_trigger_file", "renamed", "", "pg_promote()", True),
        SettingChange("effective_io_concurrency", "default", "1", "16", False),
    ),
)


def text(outcome: object = OUTCOME) -> str:
    sections = upgrade_sections(outcome, local=True)  # type: ignore[arg-type]
    return terminal_text(answer_sentence(outcome), sections, 80)  # type: ignore[arg-type]


def test_every_line_fits_into_80_columns() -> None:
    assert max(map(len, text(BLOCKED).splitlines())) <= 80


def test_the_first_line_answers() -> None:
    assert text().splitlines()[0] == "PostgreSQL 16.14 to 18.4: yes"
    blocked = text(BLOCKED).splitlines()
    assert blocked[0] == "PostgreSQL 16.14 to 18.4: yes, after one thing is resolved"
    failed = replace(OUTCOME, attempts=(), statistics=None, enabling=None)
    assert text(failed).startswith("PostgreSQL 16.14 to 18.4: no")


def test_what_blocks_comes_first_with_what_to_type() -> None:
    lines = text(BLOCKED).splitlines()
    blocking = next(n for n, line in enumerate(lines) if line.startswith("  - blocks:"))
    noted = next(n for n, line in enumerate(lines) if line.startswith("  - note:"))
    assert blocking < noted
    assert "ROLLBACK PREPARED 'order 7'" in "\n".join(lines[blocking:noted])


def test_costs_are_a_row_a_way() -> None:
    rows = re.findall(r"^  (copy.*?)  +12\.5 s|^  (copy, checksums first) +13\.5 s", text(), re.M)
    assert len(rows) == 2


def test_commands_are_those_of_the_rehearsal_and_quote_paths() -> None:
    shown = text().replace(" \\\n      ", " ")
    assert "initdb -D NEW_DATA --username=dba --no-data-checksums" in shown
    assert "-d '/srv/shop'\"'\"'s data'" in shown
    assert "pg_checksums --enable -D" not in shown.partition("What to do")[2]


def test_pg_upgrade_is_given_a_configuration_that_stands_elsewhere() -> None:
    """Of Debian's clusters `pg_upgrade` ends otherwise: it finds no postgresql.conf in the data."""
    debian = "/etc/postgresql/16/main/postgresql.conf"
    for outcome, count in ((OUTCOME, 0), (replace(OUTCOME, old_configuration=debian), 2)):
        sections = upgrade_sections(outcome, local=True)
        lines = [
            line
            for section in sections
            for block in section.blocks
            if isinstance(block, Commands)
            for line in block.lines
            if "pg_upgrade" in line
        ]
        given = [shlex.split(line) for line in lines]
        options = [words[words.index("-o") + 1] for words in given if "-o" in words]
        assert options == [f"-c config_file={debian}"] * count


def test_commands_leave_a_way_back_even_where_a_way_without_is_faster() -> None:
    check, plain, _ = OUTCOME.attempts
    linked = replace(plain, way="link", seconds=4.0)
    shown = text(replace(OUTCOME, attempts=(check, plain, linked)))
    assert "What to do (copy)" in shown
    assert "leave no way back" in " ".join(shown.split())
    alone = text(replace(OUTCOME, attempts=(check, linked)))
    assert "What to do (link)" in alone
    assert "the way back is the backup alone" in " ".join(alone.split())


def test_settings_that_the_new_version_lacks_are_not_carried_over() -> None:
    shown = " ".join(text(BLOCKED).split())
    assert "over to NEW_DATA, without promote_trigger_file" in shown
    assert "effective_io_concurrency 1 → 16" in shown


def test_names_of_others_are_no_markup_and_no_control_characters() -> None:
    evil = Section(
        "Evil",
        (
            "<script>x</script> `code` | \x1b[31m",
            SectionTable(("a", "b"), (("<b>|", "\x1b[0m"),)),
            Commands(("echo '<i>\x1b'",)),
        ),
    )
    page = html_page("<u>", [evil])
    assert not re.search(r"<script|<b>|<i>|<u>|\x1b", page)
    shown = markdown("# <u>", [evil])
    assert "\x1b" not in shown
    assert "\\<script\\>" in shown
    assert "\x1b" not in terminal_text("x", [evil], 80)


def test_the_page_in_a_file_keeps_what_pg_upgrade_wrote() -> None:
    sections = output_sections(OUTCOME)
    assert len(sections) == len(OUTCOME.attempts)
    assert "Upgrade Complete" in markdown("x", sections)
