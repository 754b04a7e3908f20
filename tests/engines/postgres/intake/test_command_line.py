"""Settings of a server's last command line are read as the server read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.postgres.intake.server_settings import (
    command_line_settings,
    settings_of_words,
)


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["-c", "shared_buffers=256MB"], {"shared_buffers": "256MB"}),
        (["-cwork_mem=8MB"], {"work_mem": "8MB"}),
        (["--shared-buffers=1GB"], {"shared_buffers": "1GB"}),
        (["--random_page_cost=1.1"], {"random_page_cost": "1.1"}),
        (["-B", "32768"], {"shared_buffers": "32768"}),
        (["-N50", "-S", "4096"], {"max_connections": "50", "work_mem": "4096"}),
        (["-F"], {"fsync": "off"}),
        (["-Fi", "-p", "5433"], {"fsync": "off", "listen_addresses": "*", "port": "5433"}),
        (["-D", "/x", "-k", "/run"], {"unix_socket_directories": "/run"}),
        (["-f", "s", "-t", "pl"], {"enable_seqscan": "off", "log_planner_stats": "on"}),
        (["-c", "my.x=a=b c"], {"my.x": "a=b c"}),
        (["-c", "work_mem=1MB", "-c", "work_mem=2MB"], {"work_mem": "2MB"}),
        (["-c"], {}),
    ],
)
def test_options_stand_for_settings(words: list[str], settings: dict[str, str]) -> None:
    assert settings_of_words(words) == settings


def test_the_file_of_a_server_is_read(tmp_path: Path) -> None:
    assert command_line_settings(tmp_path) == {}
    (tmp_path / "postmaster.opts").write_text(
        '/usr/lib/postgresql/18/bin/postgres "-D" "/data" "-c" "shared_buffers=256MB" '
        '"--cluster_name=shop" "-c" "search_path="$user", public"\n'
    )
    assert command_line_settings(tmp_path) == {
        "shared_buffers": "256MB", "cluster_name": "shop", "search_path": '"$user", public',
    }  # fmt: skip
