"""The commands of an upgrade, in order, as the rehearsal did them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from steelyard.cli.views.upgrades.sections import Block, Commands
from steelyard.engines.postgres.upgrade.outcome import CONSUMING, Attempt, UpgradeOutcome
from steelyard.engines.postgres.upgrade.slots import slot_settings

NEW_DATA = "NEW_DATA"
OLD_DATA = "OLD_DATA"


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
    )
