"""A copy that cannot be recovered says why, and what to type."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.engines.postgres.intake import recover as opening
from steelyard.engines.postgres.life import recovery
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.recovery import hint_at_build, recover
from steelyard.model.errors import EngineError, ServerError

IMAGE = "FATAL:  could not restore image at 0/3000028 compressed with {} not supported by build"


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (f"{IMAGE.format('LZ4')}, block 0", "lz4"),
        (f"{IMAGE.format('zstd')}, block 3", "zstd"),
        ("connection failed: FATAL:  ICU is not supported in this build", "ICU"),
        ("compression method lz4 not supported", "lz4"),
        ('collation "pg_catalog.de-x-icu" for encoding "UTF8" does not exist', "ICU"),
        ('collation "de_DE.utf8" for encoding "UTF8" does not exist', None),
        ("This functionality requires the server to be built with libxml support.", "libxml"),
        ("FATAL:  invalid checkpoint record", None),
        ("", None),
    ],
)
def test_what_the_build_lacks_is_named_with_a_build_that_has_it(
    words: str, needed: str | None
) -> None:
    hint = hint_at_build(words, build_version=170004)
    assert (hint is None) == (needed is None)
    if hint is not None:
        assert f"built with {needed}," in hint
        assert "`steelyard engines add debian-17`" in hint
        assert "--set control.version=debian-17 --set arm.version=debian-17" in hint


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (f"{IMAGE.format('LZ4')}, block 0\n", ServerError, "built with lz4"),
        ("FATAL:  xlog flush request 0/9 is not satisfied --- flushed only to 0/8\n", EngineError,
         "pg_basebackup -X stream"),
    ],
)  # fmt: skip
def test_the_words_of_the_server_decide_what_to_type(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, words: str, error: type[Exception], hint: str
) -> None:
    monkeypatch.setattr(recovery, "run", lambda *_, **__: (1, words))
    with pytest.raises(error, match="could not recover the copy") as refused:
        recover(cluster._build, cluster.account, cluster, {}, ())
    assert isinstance(refused.value, EngineError)
    assert hint in str(refused.value.hint)


@pytest.mark.postgres
def test_log_that_ends_before_what_the_files_hold_is_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = recovery.control_of

    def of_a_standby(directory: Any) -> Any:
        return {**real(directory), "min_recovery_point": 0x2_0000_0028}

    recover(cluster._build, cluster.account, cluster, {}, ())
    monkeypatch.setattr(recovery, "control_of", of_a_standby)
    with pytest.raises(EngineError, match="its log ends too early") as refused:
        recover(cluster._build, cluster.account, cluster, {}, ())
    assert re.search(r"up to 2/28, .* ends before 0/[0-9A-F]+\.", str(refused.value.detail))


def test_a_database_that_the_build_cannot_open_is_refused_with_what_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refused:
        def __enter__(self) -> None:
            raise ServerError("no work", detail="FATAL:  ICU is not supported in this build")

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(opening, "connected", lambda _: Refused())
    monkeypatch.setattr(opening, "replace", lambda address, **_: address)
    cluster: Any = SimpleNamespace(address="", identity=SimpleNamespace(version_number=180004))
    nothing: Any = None
    session = opening.Opening(nothing, nothing, cluster)._session("shop")
    with pytest.raises(ServerError, match="no work") as refused, session:
        pass
    assert "debian-18" in str(refused.value.hint)
