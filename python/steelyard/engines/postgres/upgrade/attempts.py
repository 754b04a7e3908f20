"""Upgrades copies in each way, with checksums and without, and starts what came of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from steelyard.engines.cache import tree_bytes
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.intake.configuration import preloaded_at_rest
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.upgrade.copies import (
    CopyHome,
    clone_copy,
    configure_for_upgrade,
    remove_upgraded,
)
from steelyard.engines.postgres.upgrade.facts import ClusterFacts, read_facts
from steelyard.engines.postgres.upgrade.findings import (
    content_findings,
    refused_finding,
    unavailable_way,
    warned_findings,
)
from steelyard.engines.postgres.upgrade.outcome import (
    CONSUMING,
    Attempt,
    Enabling,
    RehearsalFinding,
    StatisticsOutcome,
)
from steelyard.engines.postgres.upgrade.pg_upgrade import (
    WORK,
    Upgrader,
    extension_updates,
    run_timed,
)
from steelyard.engines.postgres.upgrade.slots import (
    refused_slot_finding,
    refused_slots,
    remove_slot,
    slot_settings,
)
from steelyard.engines.postgres.upgrade.statistics import gather_statistics
from steelyard.model.errors import EngineError

CHECKSUMS_BY_DEFAULT = 18
"""The first major version whose initdb turns checksums on."""
_QUIET = {"autovacuum": "off"}


@dataclass
class Rehearsed:
    """What was tried so far."""

    attempts: list[Attempt] = field(default_factory=list)
    findings: list[RehearsalFinding] = field(default_factory=list)
    mismatch: str = ""
    enabling: Enabling | None = None
    statistics: StatisticsOutcome | None = None
    start_seconds: float | None = None
    extension_updates: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    """Logical slots that were carried over."""


class Attempts:
    """The upgrades of one old copy, one after the other; beside it stands one upgraded cluster at a
    time, and empty ones."""

    def __init__(
        self,
        upgrader: Upgrader,
        slot: Slot,
        old: CopyHome,
        facts: ClusterFacts,
        report: Callable[[str], None],
    ) -> None:
        self._upgrader = upgrader
        self._slot = slot
        self._old = old
        self._facts = facts
        self._report = report
        self._numbers = count(1)
        self._unused: dict[bool, Cluster] = {}
        self._rehearsed = Rehearsed()

    def read_new(self) -> ClusterFacts:
        """What a new cluster of the new build has before anything is upgraded: its extensions."""
        new = self._new_cluster(checksums=False)
        new.start(self._slot, _QUIET)
        try:
            return read_facts(new, self._upgrader.owner)
        finally:
            new.stop()
            configure_for_upgrade(new, self._upgrader.settings)

    def run(self, ways: Sequence[str], *, old_checksums: bool) -> Rehearsed:
        """Check, then upgrade in each way that applies; without checksums in the old cluster then
        with the new version's default in both ways around it."""
        turned = not old_checksums and self._major >= CHECKSUMS_BY_DEFAULT
        if turned:
            self._show_mismatch()
        checked = self._check("copy", self._old, checksums=old_checksums)
        if not checked.worked and self._drop_refused_slots(checked):
            checked = self._check("copy", self._old, checksums=old_checksums)
        self._rehearsed.attempts.append(checked)
        self._rehearsed.findings += warned_findings(checked)
        if not checked.worked:
            what = "pg_upgrade --check refuses the cluster"
            self._rehearsed.findings.append(refused_finding(checked, what))
            return self._rehearsed
        for way in ways:
            self._try(way, checksums=old_checksums)
        if all(each.check_only for each in self._rehearsed.attempts):
            refusals = [f"{each.what}: {each.detail}" for each in self._rehearsed.findings]
            raise EngineError(
                f"could not upgrade the copy by {', '.join(ways)}",
                detail="\n".join(refusals) or None,
                hint="Name a way that works everywhere: --way copy",
            )
        if turned and self._rehearsed.statistics is not None and self._enable():
            first = next(each for each in self._rehearsed.attempts if not each.check_only)
            self._try(first.way, checksums=True)
        return self._rehearsed

    @property
    def _major(self) -> int:
        return self._upgrader.new.identity.version_number // 10000

    def _try(self, way: str, *, checksums: bool) -> None:
        """Upgrade in a way, where pg_upgrade offers it here."""
        if not self._upgrader.applies(way):
            what = f"pg_upgrade of {self._major} has no --{way}"
            self._rehearsed.findings.append(RehearsalFinding("note", what))
            return
        if way in CONSUMING:
            self._report(f"copy the old cluster again, for --{way}")
            old = CopyHome(self._slot.path / f"old-{way}")
            clone_copy(self._old, old, self._upgrader.account)
        else:
            old = self._old
        try:
            self._upgrade(way, old, checksums=checksums)
        finally:
            if old is not self._old:
                shutil.rmtree(old.path)

    def _upgrade(self, way: str, old: CopyHome, *, checksums: bool) -> None:
        if way != "copy":
            checked = self._check(way, old, checksums=checksums)
            if not checked.worked:
                self._rehearsed.findings.append(unavailable_way(checked))
                return
        new = self._new_cluster(checksums=checksums)
        del self._unused[checksums]
        try:
            attempt = self._upgrader.attempt(way, old, new, self._report, checksums=checksums)
            self._rehearsed.attempts.append(attempt)
            if not attempt.worked:
                what = f"pg_upgrade --{way} failed, after its checks had passed"
                self._rehearsed.findings.append(refused_finding(attempt, what))
            elif self._rehearsed.statistics is None:
                self._use(new)
        finally:
            remove_upgraded(old, new.directory, self._upgrader.account)

    def _use(self, new: Cluster) -> None:
        """Start what was upgraded first, compare what is in it, and gather its statistics."""
        self._report("start the upgraded copy")
        self._rehearsed.extension_updates = extension_updates(new.directory.parent / WORK)
        began = time.monotonic()
        needed = slot_settings(self._facts.slots, self._upgrader.settings)
        at_rest = preloaded_at_rest(self._upgrader.settings)  # it holds the original's jobs
        new.start(self._slot, {**_QUIET, **needed, **at_rest})
        try:
            self._rehearsed.start_seconds = round(time.monotonic() - began, 3)
            facts = read_facts(new, self._upgrader.owner)
            self._rehearsed.findings += content_findings(self._facts, facts)
            self._rehearsed.slots = facts.slots
            self._rehearsed.statistics = gather_statistics(
                self._upgrader, new, self._slot, self._facts, facts, self._report
            )
        finally:
            new.stop()

    def _show_mismatch(self) -> None:
        """What pg_upgrade says when the new cluster is made as its version's initdb does."""
        refused = self._check("copy", self._old, checksums=True)
        lines = [line for line in refused.output.splitlines() if "checksums" in line]
        self._rehearsed.mismatch = lines[-1].strip() if lines and not refused.worked else ""

    def _check(self, way: str, old: CopyHome, *, checksums: bool) -> Attempt:
        """A check changes nothing in the new cluster, which the next one and the upgrade then use
        as the instructions have it; one that refused leaves its lists there, and is not used again.
        """
        new = self._new_cluster(checksums=checksums)
        attempt = self._upgrader.attempt(
            way, old, new, self._report, checksums=checksums, check_only=True
        )
        if not attempt.worked:
            del self._unused[checksums]
            shutil.rmtree(new.directory.parent)
        return attempt

    def _drop_refused_slots(self, checked: Attempt) -> bool:
        """Drop in the old copy the logical slots that the check refuses, each of which is said;
        whether there are any."""
        refused = refused_slots(checked.noted)
        for name, why in refused:
            self._rehearsed.findings.append(refused_slot_finding(name, why))
            remove_slot(self._old, name, self._upgrader.account)
        dropped = [name for name, _ in refused]
        left = tuple(name for name in self._facts.slots if name not in dropped)
        self._facts = replace(self._facts, slots=left)
        return bool(refused)

    def _enable(self) -> bool:
        """`pg_checksums --enable` on the old copy; whether that could be done."""
        build = self._upgrader.old.build
        if not (build.bindir / "pg_checksums").is_file():
            what = f"pg_checksums is not in {build.bindir}: enabling checksums was not timed"
            self._rehearsed.findings.append(RehearsalFinding("note", what))
            return False
        self._report("pg_checksums --enable, on the old copy")
        data = self._old.data
        timed = run_timed(
            self._upgrader.account,
            [build.program("pg_checksums"), "--enable", "-D", str(data)],
            Path(data),
            build.environment,
        )
        if timed.status != 0:
            output = timed.output.strip()
            self._rehearsed.findings.append(
                RehearsalFinding("note", "pg_checksums --enable failed", output)
            )
            return False
        self._rehearsed.enabling = Enabling(round(timed.seconds, 3), tree_bytes(self._old.path))
        return True

    def _new_cluster(self, *, checksums: bool) -> Cluster:
        """That of the new version into which nothing was upgraded yet; made where there is none."""
        if checksums not in self._unused:
            home = CopyHome(self._slot.path / f"new-{next(self._numbers)}")
            cluster = self._upgrader.make_new(home.data, checksums=checksums)
            self._unused[checksums] = cluster
        return self._unused[checksums]
