"""Protocols of what an engine says of its settings and of how it was built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from steelyard.engines.engine import Instance, LocalInstance, Settings, Slot

if TYPE_CHECKING:
    from steelyard.model.identity import BuildDefaults
    from steelyard.model.setting_value import Allowed


@runtime_checkable
class SettingsCheck(Protocol):
    """An engine that can validate settings before any cluster is made."""

    def validate(self, settings: Settings) -> None:
        """UsageError for an unknown name, ServerError with its message for a bad value."""


@runtime_checkable
class OptionalSettings(Protocol):
    """An engine to which a study may give settings that it need not know."""

    def unknown(self, settings: Settings) -> frozenset[str]:
        """Of these, as they are written, those that it need not know and that do nothing."""


@runtime_checkable
class AllowedSettings(Protocol):
    """An engine that can report what its builds accept for each setting."""

    def allowed_settings(self, slot: Slot) -> Mapping[str, Allowed]:
        """By the setting's name, read from a server that is made at a free slot and removed."""


@runtime_checkable
class ComparableBuild(Protocol):
    """An engine that can be compared with another build of its kind, and take over its clusters."""

    def build_defaults(self, slot: Slot) -> BuildDefaults:
        """Its layout and defaults, read from a cluster that is made at a free slot and removed."""

    def adopt(self, instance: Instance) -> LocalInstance:
        """The same stopped cluster, to be started by this build; the layouts must be equal."""


@runtime_checkable
class Tunable(Protocol):
    """Reports its settings as the server itself sees them."""

    def settings(self) -> dict[str, str]:
        """Every setting by name with its current value and unit, e.g. `"16384 8kB"`."""
