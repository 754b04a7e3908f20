"""Stands in for the slots where arms are sessions of servers that are running.

Nothing is started or stopped. In every epoch all connections are opened afresh, and which of the
sets of connections, in the order in which they are opened, an arm gets is drawn: on one server that
makes the arms exchangeable, on several it randomises nothing but the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from steelyard.engines.capabilities.external import ExternalServer, Noticed
from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import Instance
from steelyard.engines.page_cache import Evicted
from steelyard.model.errors import EngineError
from steelyard.record.plan import Residency, Upkeep
from steelyard.running.measuring.arm_loss import ArmLostError


class Sessions:
    """The arms of a weighing at addresses: what its epochs ask of `Slots`, without files."""

    template: Path | None = None
    evicted: Evicted | None = None

    def __init__(self, arms: Mapping[str, Instance]) -> None:
        """`arms`: by name, each reached at its address."""
        self._arms = dict(arms)

    @property
    def setting_rules(self) -> SettingRules:
        """Of the kind of server."""
        rules = [
            instance.setting_rules
            for instance in self._arms.values()
            if isinstance(instance, ExternalServer)
        ]
        return rules[0] if rules else SettingRules()

    @property
    def residency(self) -> Residency:
        """Whether all arms are sessions of one server."""
        return "one server" if len(servers(self._arms)) == 1 else "several servers"

    @property
    def running_arms(self) -> Mapping[str, Instance]:
        """All arms."""
        return dict(self._arms)

    def start_arms(
        self,
        slots: Mapping[str, int],
        order: Sequence[str],
        upkeep: Upkeep,
        loads: Mapping[str, int] | None = None,
    ) -> dict[str, Instance]:
        """The arms in the order in which their connections are to be opened: that of their slots.
        ArmLostError: one takes no connection, in its server's words."""
        for arm in order:
            instance = self._arms[arm]
            if isinstance(instance, ExternalServer):
                try:
                    instance.ping()
                except EngineError as failure:
                    raise ArmLostError.at_start({arm: failure}) from failure
        return {arm: self._arms[arm] for arm in sorted(order, key=lambda arm: slots[arm])}

    def stop_arms(self) -> None:
        """Nothing: the servers go on."""

    def end_arms(self, upkeep: Upkeep) -> None:
        """Nothing: the servers go on."""

    @contextmanager
    def naming_kills(self) -> Iterator[None]:
        """No server is held to a cap."""
        yield

    def exchangeable(self) -> bool:
        """There are no files."""
        return True


def servers(arms: Mapping[str, Instance]) -> set[tuple[str, ...]]:
    """The servers that arms are reached at."""
    return {
        tuple(instance.server())
        for instance in arms.values()
        if isinstance(instance, ExternalServer)
    }


def notices(arms: Mapping[str, Instance]) -> list[str]:
    """What has to be said of the servers, each once."""
    every = (
        notice
        for instance in arms.values()
        if isinstance(instance, Noticed)
        for notice in instance.notices
    )
    return list(dict.fromkeys(every))


def round_trips(arms: Mapping[str, Instance]) -> dict[str, int]:
    """Arm → nanoseconds of an empty statement, of those that are reached; none where it fails."""
    times_ns = {}
    for name, instance in arms.items():
        if isinstance(instance, ExternalServer):
            try:
                times_ns[name] = instance.round_trip_ns()
            except EngineError:
                continue
    return times_ns
