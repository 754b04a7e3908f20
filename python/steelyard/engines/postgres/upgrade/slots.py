"""Carries logical replication slots into a copy, and words what pg_upgrade does with each.

pg_upgrade carries them over where each is valid and has consumed all of the log
(check_old_cluster_for_valid_slots of src/bin/pg_upgrade/check.c), and the new cluster has
wal_level = logical and room (check_new_cluster_logical_replication_slots).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence

from steelyard.engines.account import Account
from steelyard.engines.intake import DataPlace
from steelyard.engines.local.owned_files import names_below, overwrite, read_below
from steelyard.engines.postgres.upgrade.copies import CopyHome
from steelyard.engines.postgres.upgrade.outcome import RehearsalFinding, literal, psql_command
from steelyard.model.errors import EngineError

_STATE = "state"
_SNAPSHOTS = "pg_logical/snapshots"
_SNAPSHOT = re.compile(r"[0-9A-F]{1,8}-[0-9A-F]{1,8}\.snap")
_MOST_OF_SNAPSHOT = 64 << 20
_USUAL_SLOTS = 10
"""What max_replication_slots is by default."""
_REFUSED = re.compile(r'The slot "([a-z0-9_]+)" (has not consumed the WAL yet|is invalid)')


def copy_slots(place: DataPlace, home: CopyHome, names: Sequence[str], account: Account) -> None:
    """Put the slots of the original into a copy that was not started yet, with the snapshots that
    decoding begins by: without them it passes over what was committed until it has one of its own
    (SnapBuildFindSnapshot of snapbuild.c), and a slot seems to have consumed that. EngineError."""
    try:
        for snapshot in _snapshots(place) if names else ():
            content = read_below(place.path, f"{_SNAPSHOTS}/{snapshot}", _MOST_OF_SNAPSHOT)
            overwrite(account, home.data / _SNAPSHOTS / snapshot, content)
        for name in names:
            content = read_below(place.path, f"pg_replslot/{name}/{_STATE}")
            directory = home.data / "pg_replslot" / name
            account.make_directory(directory)
            overwrite(account, directory / _STATE, content)
    except OSError as error:
        raise EngineError(f'could not copy a slot of "{place.path}": {error.strerror}') from error


def _snapshots(place: DataPlace) -> list[str]:
    try:
        names = names_below(place.path, _SNAPSHOTS)
    except FileNotFoundError:
        return []
    return [name for name in names if _SNAPSHOT.fullmatch(name)]


def remove_slot(home: CopyHome, name: str, account: Account) -> None:
    """Take a slot out of a stopped copy."""
    account.call(lambda: shutil.rmtree(home.data / "pg_replslot" / name))


def slot_settings(names: Sequence[str], settings: Mapping[str, str]) -> dict[str, str]:
    """What servers need that have these slots; nothing without any. `settings`: the original's."""
    if not names:
        return {}
    configured = settings.get("max_replication_slots", "")
    room = max(len(names), int(configured) if configured.isdigit() else _USUAL_SLOTS)
    return {"wal_level": "logical", "max_replication_slots": str(room)}


def refused_slots(noted: str) -> list[tuple[str, str]]:
    """Name and reason of each slot in the list that `pg_upgrade --check` left."""
    return list(dict.fromkeys(_REFUSED.findall(noted)))


def refused_slot_finding(name: str, why: str) -> RehearsalFinding:
    """Why pg_upgrade would refuse the original for a slot, which was dropped in the copy."""
    drop = psql_command(f"SELECT pg_drop_replication_slot({literal(name)})")
    if why == "is invalid":
        return RehearsalFinding(
            "blocks",
            f"logical replication slot {name} is invalid",
            "pg_upgrade refuses a cluster with any. Its consumer needs a new slot and a new "
            "initial copy. In the copy it was dropped.",
            (drop,),
        )
    return RehearsalFinding(
        "blocks",
        f"logical replication slot {name} has not consumed the whole log",
        "Let its consumer catch up, then stop the server: what was written since waits for it. "
        "Or drop it, and its consumer needs a new initial copy. In the copy it was dropped.",
        (
            psql_command(
                "SELECT slot_name, active, pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), "
                "confirmed_flush_lsn)) AS behind FROM pg_replication_slots"
            ),
            drop,
        ),
    )
