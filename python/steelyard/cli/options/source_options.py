"""Turns `--from` into overrides of a study: external data in place of what would be loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
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
        place = self._standing()
        told = [f"source.place={json.dumps(place)}"]
        told += [f"source.database={json.dumps(self.database)}"] if self.database else []
        if self.config:
            told.append(f"source.config={json.dumps(os.path.abspath(self.config))}")
        return [*with_own_workload(changes), *told]

    def _standing(self) -> str:
        """The place as a path; of a running server a base backup is taken first."""
        assert self.place is not None  # the caller asks where there is one
        if not is_dsn(self.place):
            return os.path.abspath(os.path.expanduser(self.place))
        from steelyard.cli.options.running_server import backed_up

        return str(backed_up(self.place, agreed=self.agreed))


def is_dsn(text: str) -> bool:
    """Whether it is a connection string or URI, and no path that exists."""
    if text.startswith(("postgres://", "postgresql://")):
        return True
    return ("=" in text or "://" in text) and not os.path.exists(os.path.expanduser(text))
