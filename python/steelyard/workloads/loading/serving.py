"""Starts a server to be filled and ends it: cleanly after that, at once where it failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from steelyard.engines.engine import Crashable, LocalInstance, Settings, Slot


@contextmanager
def serving(
    instance: LocalInstance, slot: Slot, settings: Settings, report: Callable[[str], None]
) -> Iterator[None]:
    """The server runs within; what is raised there goes on."""
    instance.start(slot, settings)
    try:
        yield
    except BaseException:
        # Its files are thrown away, and a server that recovers from a crash may take minutes to
        # stop: told so at the wrong moment, 18.4 waits for its checkpointer for good.
        if isinstance(instance, Crashable):
            instance.discard()
        else:
            instance.stop()
        raise
    report("stop the server")
    instance.stop()
