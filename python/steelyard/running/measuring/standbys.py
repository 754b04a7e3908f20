"""Looks after the standbys of arms under load: one that dies or stops to follow loses its arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from steelyard.engines.capabilities.replication import Replicable
from steelyard.engines.engine import Instance
from steelyard.model.errors import ServerError
from steelyard.running.measuring.arm_loss import ArmLostError


def require_standbys(arm: str, instance: Instance) -> None:
    """ArmLostError: a standby has died; without it, commits would wait until their clients are
    cancelled. Sends nothing."""
    if isinstance(instance, Replicable):
        with _losing(arm):
            instance.require_standbys()


def require_streaming(arms: Mapping[str, Instance]) -> None:
    """ArmLostError for the first arm with a standby that does not follow."""
    for arm, instance in arms.items():
        if isinstance(instance, Replicable):
            with _losing(arm):
                instance.require_streaming()


@contextmanager
def _losing(arm: str) -> Iterator[None]:
    try:
        yield
    except ServerError as failure:
        primary = f'arm "{arm}" is lost: {failure.primary}'
        raise ArmLostError(arm, "crashed", primary, failure.detail, failure.hint) from failure
