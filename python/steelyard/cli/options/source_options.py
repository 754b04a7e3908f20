"""Turns `--from` into overrides of a study: external data in place of what would be loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.cli.options.address_options import with_own_workload
from steelyard.model.errors import UsageError


@dataclass(frozen=True)
class SourceOptions:
    """What was said about the data on the command line."""

    place: str | None
    database: str | None
    config: str | None
    agreed: bool
    """Whether a running server may be copied without asking."""

    def changes(self, changes: Sequence[str]) -> list[str]:
        """The overrides of a command with those of its data; without a workload of its own, what
        is driven are the user's scripts."""
        if self.place is None:
            if self.database or self.config:
                name = "--database" if self.database else "--config"
                raise UsageError(f"option {name} belongs to --from")
            return list(changes)
        if is_dsn(self.place):
            return [*with_own_workload(changes), *self._of_server()]
        place = os.path.abspath(os.path.expanduser(self.place))
        keys = {"place": place, "database": self.database, "config": self._config()}
        return [*with_own_workload(changes), *_source(keys)]

    def _of_server(self) -> list[str]:
        """Of a running server a base backup is taken first; its settings are those it reports,
        unless a file is named."""
        from steelyard.cli.options.running_server import backed_up

        assert self.place is not None  # the caller asks where there is one
        backup = backed_up(self.place, self.database, agreed=self.agreed)
        keys = {"place": str(backup.data), "database": backup.database, "config": self._config()}
        if self.config is None:
            keys |= {"config": str(backup.settings), "partial": backup.partial or None}
        reported = ["source.reported=true"] if self.config is None else []
        return [*_source(keys), *reported]

    def _config(self) -> str | None:
        return os.path.abspath(os.path.expanduser(self.config)) if self.config else None


def _source(keys: Mapping[str, str | None]) -> list[str]:
    return [f"source.{key}={json.dumps(value)}" for key, value in keys.items() if value is not None]


def is_dsn(text: str) -> bool:
    """Whether it is a connection string or URI, and no path that exists."""
    if text.startswith(("postgres://", "postgresql://")):
        return True
    return ("=" in text or "://" in text) and not os.path.exists(os.path.expanduser(text))
