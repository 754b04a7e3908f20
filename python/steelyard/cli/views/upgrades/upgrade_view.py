"""Words a rehearsed upgrade: may we, what it costs, what to do, and the commands, in order, as the
rehearsal did them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from steelyard.cli.views.upgrades.sections import Block, Commands, Section, SectionTable
from steelyard.engines.postgres.upgrade.outcome import (
    CONSUMING,
    Attempt,
    RehearsalFinding,
    SettingChange,
    UpgradeOutcome,
    server_option,
)
from steelyard.engines.postgres.upgrade.slots import slot_settings
from steelyard.model.units import NS_PER_S, format_bytes, format_duration

NEW_DATA = "NEW_DATA"
OLD_DATA = "OLD_DATA"


def answer_sentence(outcome: UpgradeOutcome) -> str:
    """The first line: may we?"""
    head = f"PostgreSQL {outcome.old_version} to {outcome.new_version}"
    count = len(outcome.blocking)
    if outcome.answer == "no":
        return f"{head}: no, the copy could not be upgraded"
    if outcome.answer == "after":
        things = "one thing is" if count == 1 else f"{count} things are"
        return f"{head}: yes, after {things} resolved"
    return f"{head}: yes"


def upgrade_sections(outcome: UpgradeOutcome, *, local: bool) -> list[Section]:
    """All of the page. `local`: the source is a directory, whose path the commands can name."""
    sections = [Section("May we", tuple(_may_we(outcome)))]
    if outcome.upgrades:
        sections.append(Section("What it costs", tuple(_costs(outcome))))
    sections.append(Section("Checksums", tuple(_checksums(outcome))))
    sections.append(Section("Settings", tuple(_settings(outcome.settings))))
    if outcome.statistics is not None:
        sections.append(Section("Statistics", tuple(_statistics(outcome))))
    if outcome.upgrades:
        best = _with_a_way_back(outcome)
        old_data = outcome.source if local else OLD_DATA
        steps = tuple(upgrade_steps(outcome, best, old_data))
        sections.append(Section(f"What to do ({_label(best, outcome)})", steps))
    return sections


def output_sections(outcome: UpgradeOutcome) -> list[Section]:
    """pg_upgrade's own output, for the page in a file."""
    return [
        Section(
            f"pg_upgrade --check, {_label(attempt, outcome)}"
            if attempt.check_only
            else f"pg_upgrade, {_label(attempt, outcome)}",
            (Commands(tuple((attempt.output + attempt.noted).splitlines())),),
        )
        for attempt in outcome.attempts
    ]


def _with_a_way_back(outcome: UpgradeOutcome) -> Attempt:
    """The fastest of the ways that leave the old cluster as it was, where one of them worked: each
    was timed once, and that may not decide over the way back."""
    keeping = [each for each in outcome.upgrades if each.way not in CONSUMING]
    return min(keeping or outcome.upgrades, key=outcome.downtime_seconds)


def _may_we(outcome: UpgradeOutcome) -> Iterator[Block]:
    sizes = f"{format_bytes(outcome.bytes)}, {len(outcome.databases)} databases"
    contents = f"{outcome.relations} relations, {outcome.large_objects} large objects"
    yield f"{outcome.source}: {sizes}, {contents}. Nothing in it was changed."
    if outcome.answer == "yes":
        yield "Nothing blocks it: pg_upgrade --check and the upgrade of the copy went through."
    levels = {"blocks": "blocks", "do": "to do", "note": "note"}
    for level, label in levels.items():
        for finding in (each for each in outcome.findings if each.level == level):
            yield from _finding(label, finding)


def _finding(label: str, finding: RehearsalFinding) -> Iterator[Block]:
    detail = f"\n{finding.detail}" if finding.detail else ""
    yield f"- {label}: {finding.what}" + detail.replace("\n", "\n  ")
    if finding.commands:
        yield Commands(finding.commands)


def _costs(outcome: UpgradeOutcome) -> Iterator[Block]:
    yield SectionTable(
        ("way", "downtime", "pg_upgrade", "schema", "files", "sync", "space"),
        tuple(_cost_row(each, outcome) for each in outcome.upgrades),
    )
    checks = [each.seconds for each in outcome.attempts if each.check_only and each.worked]
    checked = f" ({_seconds(checks[0])})" if checks else ""
    yield (
        "Downtime: enabling checksums where named, pg_upgrade, the start "
        f"({_seconds(outcome.start_seconds or 0)}), the first stage of ANALYZE "
        f"({_seconds(outcome.analyze_seconds)}). The stop of the old server with its last "
        f"checkpoint comes on top; initdb and pg_upgrade --check{checked} go before. "
        f"Each once, on a copy that was in the page cache, {outcome.jobs} jobs, on the disk of "
        "Steelyard's cache. Schema: dump and restore. Space: beside the old cluster."
    )
    if any(each.way in CONSUMING for each in outcome.upgrades):
        yield (
            f"{' and '.join(CONSUMING)} leave no way back but the backup once the new server was "
            "started; copy and clone leave the old cluster as it was."
        )


def _cost_row(attempt: Attempt, outcome: UpgradeOutcome) -> tuple[str, ...]:
    parts = attempt.parts
    schema = parts["dump of the schema"] + parts["restore of the schema"]
    return (
        _label(attempt, outcome),
        _seconds(outcome.downtime_seconds(attempt)),
        _seconds(attempt.seconds),
        _seconds(schema),
        _seconds(parts["files"]),
        _seconds(parts["sync"]),
        format_bytes(attempt.needs_bytes),
    )


def _label(attempt: Attempt, outcome: UpgradeOutcome) -> str:
    turned = attempt.checksums and not outcome.old_checksums
    return f"{attempt.way}, checksums first" if turned else attempt.way


def _checksums(outcome: UpgradeOutcome) -> Iterator[Block]:
    if not outcome.mismatch:
        state = "has" if outcome.old_checksums else "has no"
        yield f"The old cluster {state} checksums, and the new one is made alike."
        return
    yield (
        "The old cluster has no checksums, and initdb of the new version turns them on. "
        f'pg_upgrade then says: "{outcome.mismatch}". There are two ways:'
    )
    yield (
        "- initdb --no-data-checksums: as it was before; they can be enabled any time later, with "
        "the server stopped."
    )
    enabling = outcome.enabling
    if enabling is None:
        yield "- pg_checksums --enable on the old cluster first: not timed here."
        return
    rate = format_bytes(enabling.bytes / enabling.seconds)
    yield (
        f"- pg_checksums --enable on the old cluster first: {_seconds(enabling.seconds)} more "
        f"downtime here, {rate}/s of {format_bytes(enabling.bytes)}. steelyard checksums PGDATA "
        "says what it takes on the original's disk, and how a standby avoids it."
    )


def _settings(changes: Sequence[SettingChange]) -> Iterator[Block]:
    kinds = {
        "removed": "gone: {0.name}; a server that is given it does not start",
        "renamed": "renamed: {0.name} is now {0.new}",
        "value": "value refused: {0.name}",
        "library": "not in the new build: {0.old} of {0.name}",
    }
    for change in changes:
        if change.kind in kinds:
            yield f"- {kinds[change.kind].format(change)}"
    moved = [each for each in changes if each.kind == "default" and not each.configured]
    fixed = [each for each in changes if each.kind == "default" and each.configured]
    if moved:
        defaults = "; ".join(f"{each.name} {each.old} → {each.new}" for each in moved)
        yield f"- other defaults, which change under you: {defaults}"
    if fixed:
        names = ", ".join(each.name for each in fixed)
        yield f"- other defaults, which you set yourself and keep: {names}"
    if not changes:
        yield "All that is set is accepted, and no default is another."


def _statistics(outcome: UpgradeOutcome) -> Iterator[Block]:
    statistics = outcome.statistics
    assert statistics is not None  # the section is left out otherwise
    yield (
        f"pg_upgrade carried over the statistics of {statistics.carried_columns} of "
        f"{statistics.old_columns} columns, and {statistics.carried_extended} of "
        f"{statistics.old_extended} statistics objects (CREATE STATISTICS)."
    )
    for call in statistics.analyzed:
        stage = call.first_stage_seconds
        first = "" if stage is None else f", its first stage {_seconds(stage)}"
        yield f"- vacuumdb {call.command}: {_seconds(call.seconds)}{first}"


def _seconds(seconds: float) -> str:
    return format_duration(seconds * NS_PER_S) if seconds >= 0.001 else "0 s"


def upgrade_steps(outcome: UpgradeOutcome, attempt: Attempt, old_data: str) -> Iterator[Block]:
    """Paragraphs and commands, for one of the attempts that worked."""
    old_bin, new_bin = shlex.quote(outcome.old_bindir), shlex.quote(outcome.new_bindir)
    old, new = shlex.quote(old_data), NEW_DATA
    number = 0

    def step(sentence: str) -> str:
        nonlocal number
        number += 1
        return f"{number}. {sentence}"

    if outcome.blocking:
        yield step("Resolve what blocks (above), and repeat the rehearsal.")
    yield step("Make the new cluster, while the old server runs:")
    initdb = f"{new_bin}/initdb -D {new} {attempt.initdb}"
    check = _pg_upgrade(outcome, attempt, old)
    settings = slot_settings(outcome.slots, {})
    lines = "\\n".join(f"{name} = {value}" for name, value in settings.items())
    slots = [f"printf '{lines}\\n' >> {new}/postgresql.conf"] if settings else []
    yield Commands((initdb, *slots, f"{check} --check"))
    changed = [each.name for each in outcome.settings if each.configured and each.kind != "default"]
    without = f", without {', '.join(changed)}" if changed else ""
    yield step(
        f"Carry postgresql.conf, pg_hba.conf and pg_ident.conf over to {new}{without}. "
        "The downtime begins:"
    )
    stop = f"{old_bin}/pg_ctl -D {old} -m fast -w stop"
    enabling = f"{old_bin}/pg_checksums --enable -D {old}"
    turned = attempt.checksums and not outcome.old_checksums
    yield Commands((stop, *([enabling] if turned else []), check))
    start = f"{new_bin}/pg_ctl -D {new} -w start"
    calls = outcome.statistics.analyzed if outcome.statistics else ()
    owner = shlex.quote(outcome.owner)
    jobs = f"--jobs {outcome.jobs}"
    yield step("Start it, and gather statistics; the downtime ends with the first stage:")
    yield Commands(
        (start, *(f"{new_bin}/vacuumdb -U {owner} {jobs} {each.command}" for each in calls))
    )
    if outcome.extension_updates:
        yield step("Update extensions (pg_upgrade wrote update_extensions.sql):")
        yield Commands((f"{new_bin}/psql -U {owner} -f update_extensions.sql postgres",))
    back = (
        f"the way back is the backup alone once the new server was started (--{attempt.way})"
        if attempt.way in CONSUMING
        else f"until then the way back is {old_data}"
    )
    yield step(f"When all is well, remove the old cluster by ./delete_old_cluster.sh: {back}.")


def _pg_upgrade(outcome: UpgradeOutcome, attempt: Attempt, old: str) -> str:
    way = "" if attempt.way == "copy" else f" --{attempt.way}"
    old_bin, new_bin = shlex.quote(outcome.old_bindir), shlex.quote(outcome.new_bindir)
    return (
        f"{new_bin}/pg_upgrade -b {old_bin} -B {new_bin} -d {old} "
        f"-D {NEW_DATA} -U {shlex.quote(outcome.owner)} -j {outcome.jobs}{way}"
        f"{server_option(outcome.old_configuration)}"
    )
