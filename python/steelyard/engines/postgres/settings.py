"""Lists the settings of PostgreSQL that differ between two servers without being a treatment."""

from __future__ import annotations

from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import Settings
from steelyard.model.errors import EngineError

SLOT_SETTINGS = frozenset(
    {"config_file", "data_directory", "external_pid_file", "hba_file", "ident_file", "port"}
    | {"unix_socket_directories", "unix_socket_group", "unix_socket_permissions"}
)
"""Settings that belong to the slot: an arm that sets one would be weighed with its place."""

_ANY: frozenset[str] = frozenset()

SETTING_RULES = SettingRules(
    slot=SLOT_SETTINGS | {"cluster_name", "log_directory", "log_filename"},
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
        "commit_timestamp_buffers": frozenset({"shared_buffers"}),
        "huge_pages_status": frozenset({"huge_pages", "shared_buffers"}),
        "io_max_concurrency": frozenset({"shared_buffers", "max_connections"}),
        "num_os_semaphores": _ANY,
        "shared_memory_size": _ANY,
        "shared_memory_size_in_huge_pages": _ANY,
        "subtransaction_buffers": frozenset({"shared_buffers"}),
        "transaction_buffers": frozenset({"shared_buffers"}),
        "wal_buffers": frozenset({"shared_buffers"}),
    },
    preloading=frozenset(
        {"local_preload_libraries", "session_preload_libraries", "shared_preload_libraries"}
    ),
)


def refuse_slot_settings(settings: Settings) -> None:
    """EngineError for a setting that the slot owns."""
    for name in settings:
        if name.lower() in SLOT_SETTINGS:
            raise EngineError(
                f'setting "{name}" cannot be set by an arm: it belongs to the slot',
                hint="Everything but the treatment belongs to the slot and is redrawn every epoch.",
            )
