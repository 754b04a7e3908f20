"""Knows where a cluster's catalogues, maps and relation files stand, and reads them offline."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from steelyard._core import Segment, read_relation_map
from steelyard.engines.postgres.life.catalogue_rows import (
    PG_CLASS,
    PG_DATABASE,
    PG_TABLESPACE,
    CatalogueReader,
    Commits,
    Database,
    StoredRelation,
)
from steelyard.engines.postgres.sql.relation_files import DEFAULT_TABLESPACE, GLOBAL_TABLESPACE
from steelyard.integrity.scrub.cluster_state import ClusterState

MAP = "pg_filenode.map"
RelationKey = tuple[int, int, int]
"""(tablespace, database, filenode)."""


@dataclass(frozen=True)
class ClusterFiles:
    """A data directory, its segments, and what of it could not be read."""

    state: ClusterState
    segments: Sequence[Segment]
    unread: Collection[str]  # labels of files and directories
    damaged: Collection[tuple[str, int]]  # (label, block) of damaged pages

    def home(self, database: int, tablespace: int) -> str:
        """The label of a database's directory in a tablespace; database 0: of what all share."""
        if tablespace == GLOBAL_TABLESPACE or not database:
            return "global"
        if tablespace == DEFAULT_TABLESPACE:
            return f"base/{database}"
        version = self.state.layout.tablespace_version
        return f"pg_tblspc/{tablespace}/{version}/{database}"

    def is_there(self, label: str) -> bool:
        """Whether a name exists, or nothing can be known of it."""
        return os.path.lexists(self.path(label)) or self.is_unread(label)

    def has_file(self, label: str) -> bool:
        """Whether a regular file has a name, or nothing can be known of it: the server reads no
        other."""
        return os.path.isfile(self.path(label)) or self.is_unread(label)

    def missing_bytes(self, label: str, size: int) -> int:
        """How much shorter than that a file without pages is; 0: not at all, or it has pages."""
        if label in self._segment_labels or self.is_unread(label):
            return 0
        try:
            return max(0, size - self.path(label).stat().st_size)
        except OSError:
            return 0  # it was there a moment ago

    @cached_property
    def _segment_labels(self) -> frozenset[str]:
        return frozenset(segment.label for segment in self.segments)

    def is_unread(self, label: str) -> bool:
        """Whether it, or the directory that it is in, could not be read."""
        return any(
            label == each or label.startswith(f"{each}/") or _is_piece(each, label)
            for each in self.unread
        )

    def has_relation(self, key: RelationKey) -> bool:
        """Whether the first segment of a relation's main fork is there."""
        tablespace, database, filenode = key
        return self.has_file(f"{self.home(database, tablespace)}/{filenode}")

    def path(self, label: str) -> Path:
        """Where a label leads."""
        return self.state.directory / label

    def read_map(self, home: str) -> Mapping[int, int]:
        """Files of mapped relations by OID; OSError, ValueError: the server would refuse it."""
        return dict(read_relation_map(self.path(f"{home}/{MAP}"), self.state.layout.major))

    def databases(self, shared: Mapping[int, int]) -> list[Database]:
        """The databases, by the map of shared catalogues. OSError, KeyError: unreadable."""
        key = (GLOBAL_TABLESPACE, 0, shared[PG_DATABASE])
        return self._reader().databases(self._main_fork(key))

    def tablespaces(self, shared: Mapping[int, int]) -> dict[int, str]:
        """Names of the tablespaces by OID, by the map of shared catalogues. OSError, KeyError."""
        key = (GLOBAL_TABLESPACE, 0, shared[PG_TABLESPACE])
        return self._reader().tablespaces(self._main_fork(key))

    def relations(
        self, database: int, tablespace: int, mapped: Mapping[int, int]
    ) -> list[StoredRelation]:
        """The relations of a database, by its map. OSError, KeyError: unreadable."""
        key = (tablespace, database, mapped[PG_CLASS])
        return self._reader().relations(self._main_fork(key))

    def _main_fork(self, key: RelationKey) -> list[Segment]:
        segments = [
            s
            for s in self.segments
            if (s.tablespace, s.database, s.filenode) == key and s.fork == "main"
        ]
        if not segments:
            raise FileNotFoundError(errno.ENOENT, "its file is missing")
        return segments

    def _reader(self) -> CatalogueReader:
        layout = self.state.layout
        return CatalogueReader(
            major=layout.major,
            page_bytes=layout.page_bytes,
            segment_blocks=layout.segment_blocks,
            commits=Commits(self.state.directory, layout.page_bytes),
            damaged=self.damaged,
        )


def _is_piece(unread: str, label: str) -> bool:
    """Whether it is what an incremental backup has in place of the file."""
    directory, _, name = label.rpartition("/")
    return unread == f"{directory}/INCREMENTAL.{name}"
