"""What is mistyped in a file that a user named is refused with the line to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.engine import Slot
from steelyard.engines.intake import NamedFile, ServerSettings
from steelyard.engines.postgres.mistyped import nearest
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.errors import UsageError


@pytest.fixture(scope="module", params=["18", "16"])
def engine(request: pytest.FixtureRequest) -> Postgres:
    return find_postgres(request.param)


def named(settings: dict[str, str], *names: str) -> ServerSettings:
    file = NamedFile(Path("/etc/gi.conf"), frozenset(names or settings))
    return ServerSettings(settings, named=file)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"shared_buffers": "1Gi", "work_mem": "64mb", "random_page_cots": "1.1"},
         "Write in gi.conf: shared_buffers = 1GB; work_mem = 64MB; random_page_cost = 1.1"),
        ({"maintenance_work_mem": "12 parsecs"},
         "Correct or remove in gi.conf: maintenance_work_mem"),
        ({"work_mem": "S3cretTok"}, "Correct or remove in gi.conf: work_mem"),
        ({"checkpoint_timeout": "5 minutes", "jit": "enabled", "geqo": "flase"},
         "Write in gi.conf: checkpoint_timeout = 5min; jit = on; geqo = false"),
        ({"effective_io_concurrency": "-5"},
         "Correct or remove in gi.conf: effective_io_concurrency"),
        ({"synchronous_commit": "remote_aply", "primary_coninfo": "password=S3cretTok"},
         "Write in gi.conf: synchronous_commit = remote_apply; primary_conninfo = …"),
    ],
)  # fmt: skip
def test_it_is_refused_in_postgresqls_words_with_the_line(
    engine: Postgres, settings: dict[str, str], advice: str
) -> None:
    with pytest.raises(UsageError, match="PostgreSQL refuses") as refused:
        engine.known(named({**settings, "geqo_seed": "0.5"}))
    assert refused.value.hint == advice
    error = f"{refused.value} {refused.value.detail} {refused.value.hint}"
    assert "S3cretTok" not in error
    assert all(name in str(refused.value.detail) for name in settings)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "settings",
    [
        {"wal_keep_segments": "64"},
        {"checkpoint_segments": "32"},
        {"lc_time": "de_XX.UTF-8"},
        {"timezone": "Mars/Olympus"},
        {"wal_sync_method": "fsync_writethrough"},
        {"wal_compression": "brotli"},
        {"my.colour": "64mb"},
    ],
)
def test_what_another_version_build_or_machine_may_take_is_left_out_or_taken(
    engine: Postgres, settings: dict[str, str]
) -> None:
    known = engine.known(named({**settings, "work_mem": "8MB"}))
    stays = {"work_mem", *(name for name in settings if "." in name)}
    assert set(known.settings) == stays
    assert {one.what for one in known.neutralised} == {*settings} - stays


@pytest.mark.postgres
def test_what_the_file_does_not_say_is_left_out_as_of_a_server_that_ran_with_it(
    engine: Postgres,
) -> None:
    settings = {"work_mem": "64mb", "jit": "off"}
    assert set(engine.known(ServerSettings(settings)).settings) == {"jit"}
    assert set(engine.known(named(settings, "jit")).settings) == {"jit"}


@pytest.mark.postgres
def test_it_is_refused_before_a_server_is_made(engine: Postgres, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="PostgreSQL refuses work_mem"):
        engine.accepted(named({"work_mem": "64mb"}), Slot(0, tmp_path, tmp_path, 1), print)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("word", "near"),
    [("random_page_cots", "random_page_cost"), ("work_men", "work_mem"), ("jti", "jit"),
     ("sharedbufers", "shared_buffers"), ("wal_keep_segments", None), ("work_memory", None),
     ("io_workers", None), ("track_wal_io_timing", None), ("", None)],
)  # fmt: skip
def test_a_name_is_near_by_slips_of_the_keys_alone(word: str, near: str | None) -> None:
    names = ("jit", "shared_buffers", "track_io_timing", "wal_keep_size", "random_page_cost",
             "work_mem", "io_method")  # fmt: skip
    assert nearest(word, names) == near
