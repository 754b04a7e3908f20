"""The no-op engine: every protocol in memory, every call written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.capabilities.checkpoints import Checkpointer, CheckpointsWatched, Warmable
from steelyard.engines.capabilities.counters import Countable, Observable, Plans, Waits
from steelyard.engines.capabilities.life import (
    Clonable,
    Crashable,
    Freezable,
    Placeable,
    Protection,
)
from steelyard.engines.capabilities.settings import Tunable
from steelyard.engines.engine import Restartable, Slot
from steelyard.model.errors import EngineError, ServerError
from story.noop.engine import NoopEngine
from story.noop.journal import Call

SLOT = Slot(0, Path("/run/slot0"), Path("/tmp/sockets"), 54320)
CAPABILITIES = (
    *(Restartable, Clonable, Protection, Tunable, Placeable, Freezable, Crashable),
    *(Observable, Countable, Waits, Plans, Checkpointer, CheckpointsWatched, Warmable),
)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_it_has_every_capability(capability: type) -> None:
    instance = NoopEngine().create(Path("a"), protection="checksums")
    assert isinstance(instance, capability)


def test_calls_are_written_down_in_order_over_all_instances() -> None:
    engine = NoopEngine()
    first = engine.create(Path("template"), protection="checksums")
    second = first.clone(Path("copy"))
    second.protect("none")
    second.start(SLOT, {"work_mem": "4MB"})
    second.freeze()
    second.stop()
    assert [call.action for call in engine.calls] == [
        *("create", "clone", "protect", "start", "ready", "freeze", "thaw", "stop"),
    ]
    assert engine.calls[3] == Call("start", Path("copy"), (0, {"work_mem": "4MB"}))


def test_a_failure_comes_once_where_it_was_laid() -> None:
    engine = NoopEngine()
    engine.failures["start"] = [ServerError("could not start")]
    instance = engine.create(Path("a"), protection="checksums")
    with pytest.raises(ServerError):
        instance.start(SLOT, {})
    assert not instance.running
    instance.start(SLOT, {})
    assert instance.running


def test_what_needs_a_stopped_cluster_refuses_a_running_one() -> None:
    engine = NoopEngine()
    instance = engine.create(Path("a"), protection="checksums")
    instance.start(SLOT, {})
    with pytest.raises(EngineError, match="is running"):
        instance.clone(Path("b"))
    with pytest.raises(EngineError, match="is running"):
        instance.protect("none")
    instance.crash()
    with pytest.raises(EngineError, match="not running"):
        instance.use()


def test_use_grows_with_every_reading() -> None:
    instance = NoopEngine().create(Path("a"), protection="checksums")
    instance.start(SLOT, {})
    first, second = instance.use(), instance.use()
    assert second.cpu_ns - first.cpu_ns == instance.step.cpu_ns


def test_a_cluster_that_was_never_made_cannot_be_opened() -> None:
    with pytest.raises(EngineError, match="none was made there"):
        NoopEngine().open(Path("nowhere"))
