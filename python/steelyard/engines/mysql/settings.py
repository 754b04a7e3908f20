"""Lists settings that are no treatment, writes settings as options, and reads those of a build."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.differences import SettingRules, Switch
from steelyard.engines.engine import Settings
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.mysql.life.data_directory import base_arguments
from steelyard.engines.mysql.life.server import quoted
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError, ServerError

SLOT_SETTINGS = frozenset(
    {"basedir", "bind_address", "datadir", "lc_messages_dir", "log_error", "pid_file", "port"}
    | {"secure_file_priv", "skip_networking", "socket", "tmpdir", "user"}
)
"""Settings that belong to the slot: an arm that sets one would be weighed with its place."""

_OPTION_FILES = frozenset(
    {"defaults_extra_file", "defaults_file", "defaults_group_suffix", "login_path", "no_defaults"}
)
"""Options about option files: a server takes them before all others, and here it reads none."""

OUR_SETTINGS: Settings = {
    # A pool that is loaded at the start is a warm cache of one arm.
    "innodb_buffer_pool_dump_at_shutdown": "OFF",
    "innodb_buffer_pool_load_at_startup": "OFF",
}
"""Of every server, where an arm does not set them otherwise."""

LOAD_SETTINGS: Settings = {
    # Nothing reads this server before it is whole and on disk.
    "innodb_flush_log_at_trx_commit": "0",
    "innodb_doublewrite": "0",
    "innodb_buffer_pool_size": "536870912",
    "local_infile": "1",
    # Every copy of the data would carry a binary log of all rows, which MySQL 8.0 writes unasked.
    "skip_log_bin": "1",
    # Pages reach the disk in the order of the loader, in one go.
    "innodb_io_capacity": "20000",
    "innodb_io_capacity_max": "40000",
    # MariaDB's only: neither product's older servers know the other's.
    "loose_innodb_fast_shutdown": "1",
}
"""Of a server that is filled, and then stopped cleanly."""

_PATH_SETTINGS = frozenset(
    {"aria_log_dir_path", "innodb_data_file_path", "innodb_data_home_dir", "innodb_doublewrite_dir"}
    | {"innodb_log_group_home_dir", "innodb_temp_data_file_path", "innodb_temp_tablespaces_dir"}
    | {"innodb_undo_directory", "log_bin", "log_bin_index", "log_tc", "relay_log"}
    | {"relay_log_index", "rocksdb_datadir", "rocksdb_wal_dir", "tokudb_data_dir"}
    | {"tokudb_log_dir", "wsrep_data_home_dir"}
)
"""Settings that say where files are that belong to the data: lists are parted by semicolons."""

SLOT_RULES = frozenset(
    {"aria_log_dir_path", "general_log_file", "hostname", "innodb_data_home_dir"}
    | {"log_bin_basename", "log_bin_index", "relay_log", "relay_log_basename", "relay_log_index"}
    | {"relay_log_info_file", "replica_load_tmpdir", "report_port", "slave_load_tmpdir"}
    | {"slow_query_log_file", "wsrep_data_home_dir"}
    | {"gtid_binlog_pos", "gtid_binlog_state", "gtid_current_pos", "gtid_slave_pos"}
)
"""Files that a server names by its place, or by what it did there."""

_CONNECTIONS = frozenset({"max_connections", "table_open_cache", "table_definition_cache"})
_BINARY_LOG = "log_bin"
_OF_BINARY_LOG = (
    *("log_replica_updates", "log_slave_updates"),
    *("replica_preserve_commit_order", "slave_preserve_commit_order"),
)
"""MySQL 8.0 switches them off with it."""
POOL, DEDICATED = "innodb_buffer_pool_size", "innodb_dedicated_server"
_SIZES_POOL = frozenset({POOL, DEDICATED})


_PREFIX = re.compile(r"(?:loose|skip|disable|enable)_")
_CALLED_SO = frozenset(
    {"skip_external_locking", "skip_grant_tables", "skip_name_resolve", "skip_networking"}
    | {"skip_parallel_replication", "skip_replica_start", "skip_replication"}
    | {"skip_show_database", "skip_slave_start"}
)
"""Variables whose own names begin so."""


_SECOND_NAMES = {
    "log_slow_min_examined_row_limit": "min_examined_row_limit",
    "log_slow_query": "slow_query_log",
    "log_slow_query_file": "slow_query_log_file",
    "log_slow_query_time": "long_query_time",
    "tmp_memory_table_size": "tmp_table_size",
    "tx_isolation": "transaction_isolation",
    "tx_read_only": "transaction_read_only",
}
"""Name of a setting that has two → the one by which it is compared. Servers report both, or one
that their command line does not take: of transaction-isolation MariaDB before 11.1 tx_isolation."""


def reported_name(option: str) -> str:
    """The name by which a server's settings are compared, of an option: option files write dashes,
    loose- before one that a server need not know, and skip- and its like before a switch."""
    name = _without_prefix(option)
    return _SECOND_NAMES.get(name, name)


def _without_prefix(option: str) -> str:
    name = option.lower().replace("-", "_")
    while prefix := _PREFIX.match(name) if name not in _CALLED_SO else None:
        name = name[prefix.end() :]
    return name


def by_one_name(reported: Settings) -> dict[str, str]:
    """A server's settings, each by one name."""
    return {_SECOND_NAMES.get(name, name): value for name, value in reported.items()}


_BINARY_LOG_SWITCH = Switch(_BINARY_LOG, "OFF", "log_bin=binlog --set settings.server_id=1")
_QUERY_CACHE = Switch("query_cache_type", "OFF", "query_cache_type=ON")
_SLOW_LOG = Switch("slow_query_log", "OFF", "slow_query_log=ON")


SETTING_RULES = SettingRules(
    name_of=reported_name,
    usual_connections=151,
    slot=SLOT_SETTINGS | SLOT_RULES,
    places=frozenset(
        {"character_sets_dir", "plugin_dir", "ft_stopword_file", "tls_version", "lc_messages_dir"}
    ),
    compiled=frozenset(
        {"innodb_version", "license", "protocol_version", "slave_type_conversions", "version"}
        | {"version_comment", "version_compile_machine", "version_compile_os"}
        | {"version_malloc_library", "version_source_revision", "version_ssl_library"}
        | {"large_page_size", "lower_case_file_system"}
    ),
    without_effect={
        "init_connect": "servers do not execute it for the superuser, as whom a load connects",
        "sql_mode": "sessions of a load set their own, so that statements mean the same in all",
    },
    of_new_tables=frozenset(
        {"default_storage_engine", "innodb_default_row_format", "innodb_file_per_table"}
        | {"character_set_server", "collation_server"}
        | {"innodb_compression_default", "innodb_fill_factor"}
    ),
    # "System Variables" of both manuals; nearly all of these switches are off by default.
    switches={
        **dict.fromkeys(
            ("binlog_", "expire_logs_days", "max_binlog_", "sync_binlog"), _BINARY_LOG_SWITCH
        ),
        "innodb_adaptive_hash_index_": Switch(
            "innodb_adaptive_hash_index", "OFF", "innodb_adaptive_hash_index=ON"
        ),
        "innodb_max_undo_log_size": Switch(
            "innodb_undo_log_truncate", "OFF", "innodb_undo_log_truncate=ON"
        ),
        "performance_schema_": Switch("performance_schema", "OFF", "performance_schema=ON"),
        **dict.fromkeys(
            {"query_cache_limit", "query_cache_min_res_unit", "query_cache_size"}
            | {"query_cache_strip_comments", "query_cache_wlock_invalidate"},
            _QUERY_CACHE,
        ),
        **dict.fromkeys(
            {"log_queries_not_using_indexes", "log_slow_", "long_query_time"}
            | {"log_throttle_queries_not_using_indexes", "min_examined_row_limit"},
            _SLOW_LOG,
        ),
        "thread_pool_": Switch(
            "thread_handling",
            "one-thread-per-connection",
            "thread_handling=pool-of-threads --set placement=free",
        ),
    },
    # sql/mysqld.cc (adjust_related_options) and the performance schema's pfs_autosize.cc of 5.7.
    derived={
        "back_log": _CONNECTIONS,
        "binlog_expire_logs_seconds": frozenset({"expire_logs_days"}),
        "expire_logs_days": frozenset({"binlog_expire_logs_seconds"}),
        "host_cache_size": _CONNECTIONS,
        "innodb_buffer_pool_chunk_size": _SIZES_POOL,
        "innodb_buffer_pool_instances": _SIZES_POOL,
        POOL: frozenset({DEDICATED}),
        "innodb_buffer_pool_size_max": _SIZES_POOL,
        "innodb_checksums": frozenset({"innodb_checksum_algorithm"}),
        "innodb_flush_method": frozenset({DEDICATED}),
        "innodb_io_capacity_max": frozenset({"innodb_io_capacity"}),
        "innodb_log_file_size": frozenset({DEDICATED}),
        "innodb_log_files_in_group": frozenset({DEDICATED}),
        "innodb_max_dirty_pages_pct_lwm": frozenset({"innodb_max_dirty_pages_pct"}),
        "innodb_open_files": _CONNECTIONS,
        **dict.fromkeys(_OF_BINARY_LOG, frozenset({_BINARY_LOG})),
        "innodb_page_cleaners": _SIZES_POOL | {"innodb_buffer_pool_instances"},
        "innodb_redo_log_capacity": frozenset({DEDICATED}),
        "max_allowed_packet": frozenset({"net_buffer_length"}),
        "open_files_limit": _CONNECTIONS,
        "performance_schema_accounts_size": _CONNECTIONS,
        "performance_schema_hosts_size": _CONNECTIONS,
        "performance_schema_users_size": _CONNECTIONS,
        "performance_schema_digests_size": _CONNECTIONS,
        "query_cache_type": frozenset({"query_cache_size"}),
        "table_definition_cache": _CONNECTIONS,
        "table_open_cache": _CONNECTIONS,
        "table_open_cache_instances": _CONNECTIONS,
        "thread_cache_size": _CONNECTIONS,
        # It ends in -log where one of them is on (make_version_string of sql/mysqld.cc).
        "version": frozenset({"general_log", _BINARY_LOG, "slow_query_log"}),
    },
)


def normal(settings: Settings) -> dict[str, str]:
    """Settings by the names that SHOW VARIABLES gives: option files write them with dashes too."""
    return {name.lower().replace("-", "_"): value for name, value in settings.items()}


_MODIFIERS = re.compile(r"^(?:(?:loose|skip|disable|enable|maximum)_)+")
"""What may stand before the name of an option (special_opt_prefix of mysys/my_getopt.c)."""


def refuse_slot_settings(settings: Settings) -> None:
    """EngineError for a setting that the slot owns, or that keeps data outside their directory."""
    for name, value in normal(settings).items():
        meant = _MODIFIERS.sub("", name)
        if meant in _OPTION_FILES:
            raise EngineError(
                f'setting "{name}" cannot be set by an arm: servers here read no option files',
                hint="Name each setting of the file: --set arm.settings.NAME=VALUE, or "
                "settings.NAME=VALUE for all arms.",
            )
        if meant in SLOT_SETTINGS | {"networking"}:
            raise EngineError(
                f'setting "{name}" cannot be set by an arm: it belongs to the slot',
                hint="Everything but the treatment belongs to the slot and is redrawn every epoch.",
            )
        if meant in _PATH_SETTINGS and _leads_out(value):
            raise EngineError(
                f'setting "{name}" cannot be "{value}": it leads out of the data directory',
                detail="What is there is neither copied with the data nor restored with them: "
                "servers of all slots and epochs would find each other's files.",
                hint="Leave it out, or give a path below the data directory: it begins with "
                "neither / nor ~ and has no ..",
            )


def _leads_out(value: str) -> bool:
    """Whether one of the files or directories of a value is not below the data directory. Servers
    take ~ for their home (unpack_dirname of mysys/mf_pack.c)."""
    paths = [path.strip(" \t\"'") for path in value.split(";")]
    return any(path.startswith(("/", "~")) or ".." in re.split("[/:]", path) for path in paths)


_SWITCHED = re.compile(r"(?:loose_)*(?:skip|disable|enable)_")


def as_options(settings: Settings) -> list[str]:
    """The server's command line. `--name=value` overrides what stands before it."""
    return [_option(name, value) for name, value in normal(settings).items()]


def _option(name: str, value: str) -> str:
    """One option as the server takes what is meant: behind skip- and its like it knows 0 alone for
    a word of no (my_getopt.c), and a value of log_bin is the name of a file, OFF too."""
    word = value.strip().lower()
    if _SWITCHED.match(name):
        value = str(int(_WORDS[word])) if word in _WORDS else value
    elif reported_name(name) == _BINARY_LOG and (word == "0" or _WORDS.get(word) == 0):
        return "--skip-log-bin"
    return f"--{name.replace('_', '-')}={value}"


_SUFFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50, "e": 1 << 60}
_WORDS = {"on": 1.0, "true": 1.0, "yes": 1.0, "off": 0.0, "false": 0.0, "no": 0.0}


def passed_over(settings: Settings, known: Collection[str]) -> frozenset[str]:
    """Of settings behind loose_, those of which no option has the name or begins with it (one may
    be cut short as far as no other begins so: findopt of mysys/my_getopt.c)."""
    return frozenset(
        name
        for name in filter(is_optional, settings)
        if not any(option.startswith(form) for option in known for form in _forms(name))
    )


def is_optional(name: str) -> bool:
    """Whether a server that does not know a setting passes over it."""
    return name.lower().replace("-", "_").startswith("loose_")


def _forms(name: str) -> set[str]:
    """What an option may be called that is meant by a name."""
    [option] = normal({name: ""})
    return {option.removeprefix("loose_"), _without_prefix(name), _MODIFIERS.sub("", option)}


def same_value(written: str, parsed: str) -> bool:
    """Whether a server took a value as it was meant: "64M" is 67108864, "OFF" is FALSE. A word that
    was given as a number, and lists of words, are not distinguished."""
    if "," in parsed or written.strip().lower() == parsed.lower():
        return True
    mine, theirs = _number(written), _number(parsed)
    if mine is None:
        return theirs is None and written.strip().lower() == parsed.lower()
    return theirs is None or mine == theirs


def _number(value: str) -> float | None:
    text = value.strip().lower()
    if text in _WORDS:
        return _WORDS[text]
    factor = _SUFFIXES.get(text[-1:])
    try:
        return float(text[:-1]) * factor if factor else float(text)
    except ValueError:
        return None


def help_of(build: Build, account: Account, settings: Settings) -> tuple[int, str]:
    """Exit status and words of the server's help with these settings."""
    command = [str(build.server), *base_arguments(build, Path("/"))]
    command += [*as_options(settings), "--verbose", "--help"]
    return run(account, command, environment=build.environment)


_LISTED = re.compile(r"^([a-z][a-z0-9-]+)(?: +(.*))?$")
_NO_VALUE = "(No default value)"


def defaults_of(
    build: Build, account: Account, settings: Settings | None = None
) -> dict[str, str | None]:
    """What the command line and option files may set, by name, with its value where `settings` are
    given and nothing else; ServerError: the server did not list them."""
    status, output = help_of(build, account, settings or {})
    listed = listed_in(output)
    if status != 0 or not listed:
        raise ServerError(f'could not ask "{build.server}" for its settings', detail=quoted(output))
    return listed


def listed_in(output: str) -> dict[str, str | None]:
    """The table at the end of the help; an empty line ends it."""
    _, _, table = output.partition("\nVariables (--variable-name=value)")
    listed: dict[str, str | None] = {}
    for line in table.splitlines()[2:]:
        match = _LISTED.match(line)
        if match is None:
            if listed:
                break
            continue
        value = (match[2] or "").strip()
        listed[match[1].replace("-", "_")] = None if value == _NO_VALUE else value
    return listed
