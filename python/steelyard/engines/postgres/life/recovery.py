"""Recovers a copied cluster by a server in single-user mode, which needs no authentication."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from steelyard.engines.account import Account
from steelyard.engines.local.owned_files import names_below, replace_text
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.configuration_text import (
    AUTOMATIC,
    MAIN,
    configuration_text,
    enough_log,
    log_limits,
)
from steelyard.engines.postgres.life.control import control_of
from steelyard.engines.postgres.life.data_directory import TABLESPACES
from steelyard.engines.postgres.life.server import quoted
from steelyard.engines.postgres.loopback import SOCKET_ALONE
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.units import format_lsn

MAINTENANCE = "template1"
_RECOVERY: Mapping[str, str] = {
    # Recovery of a backup must not wait for what the original had: no followers, no queries in it.
    "hot_standby": "off",
    "max_prepared_transactions": "1000",
    # A server does not start with less than the origins that a subscriber's has (origin.c).
    "max_replication_slots": "1000",
    "max_active_replication_origins": "1000",
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_wal_size": "16GB",
    "min_wal_size": "32MB",
    "wal_recycle": "off",
    "wal_keep_size": "0",
    "checkpoint_timeout": "1d",
    "huge_pages": "off",
    "shared_buffers": "128MB",
    "synchronous_commit": "off",
    # Of the sessions in which the copy is made ready.
    "default_transaction_read_only": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "event_triggers": "off",
}
_HALF = re.compile(
    r"could not locate (?:a valid|required) checkpoint record|could not find redo location"
    r"|requested timeline|WAL ends before end of online backup|backup_label contains data"
    r"|invalid checkpoint record|xlog flush request \S+ is not satisfied",
)
_BUILT_WITHOUT = (
    # xlogreader.c, of wal_compression; pg_locale.c.
    (re.compile(r"compressed with LZ4 not supported by build", re.IGNORECASE), "lz4"),
    (re.compile(r"compressed with zstd not supported by build", re.IGNORECASE), "zstd"),
    # Of a dump: toast_compression.c; collations that initdb makes of ICU's locales.
    (re.compile(r"compression method lz4 not supported"), "lz4"),
    (re.compile(r'ICU is not supported in this build|collation "[^"]*-x-icu"'), "ICU"),
    (re.compile(r"requires the server to be built with libxml support"), "libxml"),
)
_RECOVERY_TIMEOUT_S = 3600.0
"""Of replaying a backup's log."""


def recover(
    build: Build,
    account: Account,
    cluster: Cluster,
    settings: Mapping[str, str],
    statements: Sequence[str],
) -> str:
    """Replay the log that a stopped copy still needs, execute statements in `template1`, and stop
    it; the program's words. Its configuration is replaced by the settings, and lets every local
    role in.

    EngineError: half a backup; ServerError: the server's words.
    """
    configure_copy(account, cluster, copy_settings(cluster, settings))
    needed = _log_position(cluster.directory, "min_recovery_point")
    recovery = recovery_settings(cluster)
    options = [part for key, value in recovery.items() for part in ("-c", f"{key}={value}")]
    directory = cluster.directory
    command = [build.program("postgres"), "--single", "-D", str(directory), *options]
    status, output = run(
        account,
        [*command, MAINTENANCE],
        directory=directory,
        environment=build.environment,
        stdin="".join(f"{statement}\n" for statement in statements),
        timeout_s=_RECOVERY_TIMEOUT_S,
    )
    if status == 0 and "FATAL:" not in output:
        _require_replayed(cluster.directory, needed)
        return output
    if _HALF.search(output):
        raise EngineError(
            "could not recover the copy: it is half a backup",
            detail=quoted(output) or None,
            hint="Take it with pg_basebackup -X stream, which brings the log that it needs. Where "
            "that is in an archive (pgBackRest, Barman, WAL-G), start a server on the restored "
            "files once, so that it fetches the log, and stop it.",
        )
    raise ServerError(
        "could not recover the copy",
        detail=quoted(output) or output.strip(),
        hint=hint_at_build(output, build_version=cluster.identity.version_number),
    )


def hint_at_build(words: str, *, build_version: int) -> str | None:
    """What to type where a server needs what it was built without, by its words; None: it is not
    that."""
    needed = next((what for words_of, what in _BUILT_WITHOUT if words_of.search(words)), None)
    if needed is None:
        return None
    name = f"debian-{build_version // 10000}"
    return (
        f"The data need a server that was built with {needed}, as Debian's are. `steelyard engines "
        f"add {name}` brings one; name it in every arm: --set control.version={name} --set "
        f"arm.version={name} (of `upgrade`: --old-bindir DIR)"
    )


def _require_replayed(directory: Path, needed: int) -> None:
    """EngineError: the log ended before what the files of a standby already hold. A server looks at
    that in recovery from an archive alone (StartupXLOG of xlog.c); here it would open pages from
    after the end of its log beside others from before."""
    reached = _log_position(directory, "checkpoint")
    if reached < needed:
        raise EngineError(
            "could not recover the copy: its log ends too early",
            detail="Its files are of a standby that had replayed the log up to "
            f"{format_lsn(needed)}, and what is in pg_wal ends before {format_lsn(reached)}.",
            hint="Stop the standby, and copy its whole directory with pg_wal; or take a base "
            "backup of it: pg_basebackup -X stream.",
        )


def _log_position(directory: Path, name: Literal["min_recovery_point", "checkpoint"]) -> int:
    """A position in the log by the control file; 0: of a version that is not known yet."""
    try:
        return int(control_of(directory)[name])
    except (OSError, ValueError):
        return 0


def copy_settings(cluster: Cluster, settings: Mapping[str, str]) -> dict[str, str]:
    """What a copy is configured with: the settings, limits that hold its log's segments, and leave
    for tablespaces that stand within it."""
    configured = {**settings, **log_limits(cluster.directory)}
    if names_below(cluster.directory, TABLESPACES):
        configured["allow_in_place_tablespaces"] = "on"
    return configured


def configure_copy(account: Account, cluster: Cluster, settings: Mapping[str, str]) -> None:
    """Give a copy these settings and no others, and let every local role in."""
    for name, text in (
        ("pg_hba.conf", SOCKET_ALONE),
        ("pg_ident.conf", ""),
        (AUTOMATIC, ""),
        (MAIN, configuration_text(settings)),
    ):
        try:
            replace_text(account, cluster.directory / name, text)
        except OSError as error:
            raise EngineError(f'could not write "{name}" of the copy: {error.strerror}') from error


def recovery_settings(cluster: Cluster) -> dict[str, str]:
    """As this version and the cluster's segments take them."""
    settings = enough_log(cluster.directory, _RECOVERY)
    for name, first in (("event_triggers", 170000), ("max_active_replication_origins", 180000)):
        if cluster.identity.version_number < first:
            del settings[name]
    return settings
