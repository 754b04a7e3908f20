"""Lists the settings that are no treatment, and asks a build what it makes of others."""

from __future__ import annotations

from typing import Literal, cast

from steelyard.engines.account import Account
from steelyard.engines.capabilities.memory import MemoryNeed
from steelyard.engines.differences import SettingRules, Switch
from steelyard.engines.engine import Settings
from steelyard.engines.postgres.builds.build import Build, answer_of
from steelyard.engines.postgres.life.server import quoted
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError, ServerError

SLOT_SETTINGS = frozenset(
    {"config_file", "data_directory", "external_pid_file", "hba_file", "hosts_file"}
    | {"ident_file", "port"}
    | {"unix_socket_directories", "unix_socket_group", "unix_socket_permissions"}
)
"""Settings that belong to the slot: an arm that sets one would be weighed with its place."""

BULK_SETTINGS: Settings = {
    # Nothing reads this cluster before it is whole and on disk: no log of the rows, no waiting.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1d",
    "shared_buffers": "128MB",
    "maintenance_work_mem": "512MB",
    # One log segment is enough to start from, and every clone copies what stands there: the log
    # of what SQL inserts is not kept for later use.
    "min_wal_size": "32MB",
    "wal_recycle": "off",
}
"""Of a server that is filled, and then stopped cleanly."""

_ANY: frozenset[str] = frozenset()

_PRELOADED = (
    *("auth_delay", "auto_explain", "pg_prewarm", "pg_stat_statements"),
    *("pg_qualstats", "pg_stat_kcache", "pg_stat_monitor", "pg_wait_sampling", "pgaudit"),
)
"""Modules of contrib and others whose settings begin with their name."""

PLANNER_SETTINGS = frozenset(
    {"enable_", "geqo_", "jit_", "geqo", "jit", "work_mem", "hash_mem_multiplier"}
    | {"random_page_cost", "seq_page_cost", "cpu_tuple_cost", "cpu_index_tuple_cost"}
    | {"cpu_operator_cost", "parallel_setup_cost", "parallel_tuple_cost"}
    | {"effective_cache_size", "min_parallel_table_scan_size", "min_parallel_index_scan_size"}
    | {"max_parallel_workers", "max_parallel_workers_per_gather", "parallel_leader_participation"}
    | {"default_statistics_target", "constraint_exclusion", "cursor_tuple_fraction"}
    | {"from_collapse_limit", "join_collapse_limit", "plan_cache_mode"}
    | {"recursive_worktable_factor", "debug_parallel_query"}
)
"""Query Tuning in src/backend/utils/misc/guc_tables.c, and the memory and workers that costs are
worked out from."""

_AUTOVACUUM = Switch("autovacuum", "off", "autovacuum=on")
_STANDBYS = Switch(
    "synchronous_standby_names",
    "",
    "",
    alike=frozenset({"on", "local", "remote_write", "remote_apply"}),
    hint="Without a standby all of them wait for the server's own log alone, and only off does "
    "not. What waiting for a standby costs: steelyard weigh replication",
)
SWITCHES = {
    "autovacuum_": _AUTOVACUUM,
    "log_autovacuum_min_duration": _AUTOVACUUM,
    "geqo_": Switch("geqo", "off", "geqo=on"),
    "jit_": Switch("jit", "off", "jit=on"),
    "commit_siblings": Switch("commit_delay", "0", "commit_delay=10"),
    **dict.fromkeys(("wal_sync_method", "commit_delay"), Switch("fsync", "off", "fsync=on")),
    "archive_library": Switch("archive_mode", "off", "archive_mode=on"),
    **dict.fromkeys(
        ("io_workers", "io_min_workers", "io_max_workers", "io_worker_"),
        Switch("io_method", ("sync", "io_uring"), "io_method=worker"),
    ),
    "huge_page_size": Switch("huge_pages", "off", "huge_pages=try"),
    "log_statement_sample_rate": Switch(
        "log_min_duration_sample", "-1 ms", "log_min_duration_sample=0"
    ),
    **dict.fromkeys(
        ("parallel_setup_cost", "parallel_tuple_cost", "parallel_leader_participation"),
        Switch("max_parallel_workers_per_gather", "0", "max_parallel_workers_per_gather=2"),
    ),
    "synchronous_commit": _STANDBYS,
}
"""Server Configuration in the documentation of PostgreSQL says of each what it needs. The time of
archive_timeout is not among them: it ends segments of the log without an archive, too."""

SETTING_RULES = SettingRules(
    planner=PLANNER_SETTINGS,
    switches=SWITCHES,
    slot=SLOT_SETTINGS
    | {"cluster_name", "log_directory", "log_filename", "ssl_cert_file", "ssl_key_file"},
    places=frozenset({"dynamic_library_path", "extension_control_path", "krb_server_keyfile"}),
    compiled=frozenset(
        {
            "block_size",
            "debug_assertions",
            "integer_datetimes",
            "max_function_args",
            "max_identifier_length",
            "max_index_keys",
            "segment_size",
            "server_version",
            "server_version_num",
            "ssl_library",
            "wal_block_size",
        }
    ),
    # Seen by starting 16.14 and 18.4 with another shared_buffers and max_connections; the formulas
    # are in src/backend/utils/misc/guc_tables.c and the *_shmem_buffers functions of the SLRUs.
    derived={
        "archive_command": frozenset({"archive_mode"}),  # "(disabled)" without
        "commit_timestamp_buffers": frozenset({"shared_buffers"}),
        "huge_pages_status": frozenset({"huge_pages", "shared_buffers"}),
        "io_max_concurrency": frozenset({"shared_buffers", "max_connections"}),
        "num_os_semaphores": _ANY,
        "shared_memory_size": _ANY,
        "shared_memory_size_in_huge_pages": _ANY,
        "subtransaction_buffers": frozenset({"shared_buffers"}),
        "transaction_buffers": frozenset({"shared_buffers"}),
        "wal_buffers": frozenset({"shared_buffers"}),
        # What a session's transactions begin with.
        **{
            f"transaction_{each}": frozenset({f"default_transaction_{each}"})
            for each in ("deferrable", "isolation", "read_only")
        },
    },
    of_other_clients={
        "listen_addresses": "where a server listens besides is no matter to clients of its socket: "
        'say connect = "tcp"',
        "password_encryption": "no password is asked for at the socket, and a new one of SCRAM by "
        "TCP",
        "ssl": "clients of the socket are never encrypted, and others by what they ask for: say "
        'connect = "tls", as study ssl does',
    },
    of_new_tables=frozenset({"default_table_access_method", "default_tablespace"}),
    of_statistics={"default_statistics_target": "100"},
    of_stored_values=frozenset({"default_toast_compression"}),
    preloading=frozenset(
        {"local_preload_libraries", "session_preload_libraries", "shared_preload_libraries"}
    ),
    modules={**{name: name for name in _PRELOADED}, "cron": "pg_cron"},
)


def refuse_slot_settings(settings: Settings) -> None:
    """EngineError for a setting that the slot owns."""
    for name in settings:
        if name.lower() in SLOT_SETTINGS:
            raise EngineError(
                f'setting "{name}" cannot be set by an arm: it belongs to the slot',
                hint="Where its data are is a key of an arm: --set arm.directory=/mnt/fast"
                if name.lower() == "data_directory"
                else "Everything but the treatment belongs to the slot and is redrawn every epoch.",
            )


def accepts(build: Build, account: Account, settings: Settings) -> bool:
    """Whether a build accepts these settings; it refuses one that it does not know."""
    return answer_of(build, account, "server_version", settings)[0] == 0


def memory_need(build: Build, account: Account, settings: Settings) -> MemoryNeed:
    """By shared_buffers, in blocks, and huge_pages as the server itself reads the settings."""
    names = ("shared_buffers", "block_size", "huge_pages")
    relevant = {name: value for name, value in settings.items() if name.lower() in names}
    presets = {name: read_preset(build, account, name, relevant) for name in names}
    return MemoryNeed(
        pool_bytes=int(presets["shared_buffers"]) * int(presets["block_size"]),
        huge_pages=cast(Literal["off", "try", "on"], presets["huge_pages"]),
    )


def read_preset(build: Build, account: Account, name: str, settings: Settings | None = None) -> str:
    """What a server would report as its setting, without its unit; ServerError: it does not."""
    status, output = answer_of(build, account, name, settings)
    if status != 0:
        raise ServerError(f'could not read "{name}" of a server', detail=quoted(output) or None)
    return output.split()[-1]


def setting_types(build: Build, account: Account) -> dict[str, str]:
    """The settings that a configuration file may hold, as the build lists them: name → BOOLEAN,
    INTEGER, REAL, STRING or ENUM."""
    command = [build.program("postgres"), "--describe-config"]
    _, output = run(account, command, environment=build.environment)
    columns = [line.split("\t") for line in output.splitlines()]
    return {row[0]: row[3] for row in columns if len(row) > 3}
