"""What a rehearsed upgrade came to: findings, attempts with their parts, statistics, the answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

_STATUS = re.compile(r"(\S.*?)\s{2,}(ok|warning|notice|fatal|failed|skipped)")
"""A step of pg_upgrade and how it ended."""
_HEADINGS = ("Performing Upgrade", "Upgrade Complete")
Level = Literal["blocks", "do", "note"]
"""pg_upgrade refuses the original as it is; a step of the upgrade; worth knowing."""
Answer = Literal["yes", "after", "no"]
"""We may as it is; after what blocks is resolved, which the copy shows; not by this rehearsal."""
WAYS = ("copy", "clone", "copy-file-range", "link", "swap")
"""How pg_upgrade brings relation files over, as its options are called."""
CONSUMING = ("link", "swap")
"""Ways after which the old cluster cannot be started again safely."""
PARTS = ("checks", "dump of the schema", "new catalogues", "restore of the schema", "files", "sync")


@dataclass(frozen=True)
class RehearsalFinding:
    """Something that was seen before, or by the rehearsal, with what to type."""

    level: Level
    what: str
    detail: str = ""
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """One call of pg_upgrade on a copy."""

    way: str  # of WAYS
    checksums: bool  # of both clusters
    check_only: bool
    worked: bool
    seconds: float
    parts: Mapping[str, float]  # seconds by PARTS; of an upgrade they add up to `seconds`
    needs_bytes: int  # on the disk beside the old cluster; 0 of a check
    output: str  # of pg_upgrade, without secrets
    initdb: str  # options by which the new cluster was made
    noted: str = ""  # of the files that it left where it failed, likewise

    @property
    def reason(self) -> str:
        """What it refused, in its words; "" where it worked."""
        return "" if self.worked else failure_words(self.output)


@dataclass(frozen=True)
class Enabling:
    """`pg_checksums --enable` on the copy."""

    seconds: float
    bytes: int  # of the cluster


@dataclass(frozen=True)
class Analyzed:
    """One call of vacuumdb on the upgraded copy."""

    command: str  # its options, "--all --analyze-only"
    seconds: float
    first_stage_seconds: float | None  # after which every table has coarse statistics; of stages


@dataclass(frozen=True)
class StatisticsOutcome:
    """The planner's statistics: of the old cluster, carried over, and gathered anew."""

    old_columns: int  # columns with statistics
    carried_columns: int
    old_extended: int  # statistics objects (CREATE STATISTICS) that were filled
    carried_extended: int
    analyzed: tuple[Analyzed, ...]


@dataclass(frozen=True)
class SettingChange:
    """A setting that is otherwise in the new version."""

    name: str
    kind: Literal["removed", "renamed", "value", "library", "default"]
    old: str  # the default, of "default"; else ""
    new: str  # the default or the new name
    configured: bool  # by the original's files


@dataclass(frozen=True)
class UpgradeOutcome:
    """Everything about one rehearsal."""

    source: str
    old_version: str
    new_version: str
    old_bindir: str
    new_bindir: str
    old_engine: str  # as `steelyard engines` names it; "": it does not
    new_engine: str
    owner: str  # the role that initdb made in the original
    bytes: int
    databases: Mapping[str, int]  # bytes by name
    relations: int
    large_objects: int
    jobs: int
    wal_segment_bytes: int
    old_checksums: bool
    mismatch: str  # what pg_upgrade says with the new version's default; "": they agree
    findings: tuple[RehearsalFinding, ...]
    settings: tuple[SettingChange, ...]
    attempts: tuple[Attempt, ...]
    enabling: Enabling | None
    statistics: StatisticsOutcome | None
    start_seconds: float | None  # of the upgraded copy
    extension_updates: tuple[str, ...]  # statements that pg_upgrade wrote down
    slots: tuple[str, ...] = ()  # logical ones, which were carried over
    old_configuration: str = ""  # the old server's postgresql.conf; "": beside its data

    @property
    def new_major(self) -> str:
        """`"19"` of 19rc1."""
        return re.split(r"\D", self.new_version)[0]

    @property
    def blocking(self) -> tuple[RehearsalFinding, ...]:
        """What must be resolved before."""
        return tuple(each for each in self.findings if each.level == "blocks")

    @property
    def upgrades(self) -> tuple[Attempt, ...]:
        """The attempts that upgraded a copy."""
        return tuple(each for each in self.attempts if each.worked and not each.check_only)

    @property
    def answer(self) -> Answer:
        """May we upgrade?"""
        if not self.upgrades or self.statistics is None:
            return "no"
        return "after" if self.blocking else "yes"

    def downtime_seconds(self, attempt: Attempt) -> float:
        """From the stop of the old server to coarse statistics in the new one, by what was
        measured: enabling checksums where the attempt needs that, pg_upgrade, the start, and the
        first stage of ANALYZE."""
        enabling = self.enabling.seconds if self.enabling and attempt.checksums else 0.0
        return enabling + attempt.seconds + (self.start_seconds or 0.0) + self.analyze_seconds

    @property
    def analyze_seconds(self) -> float:
        """Of the first stage of the first call of vacuumdb."""
        calls = self.statistics.analyzed if self.statistics else ()
        return (calls[0].first_stage_seconds or 0.0) if calls else 0.0

    def to_json(self) -> dict[str, Any]:
        """As `upgrade --json` gives it."""
        facts = asdict(self)
        facts["answer"] = self.answer
        for attempt_facts, attempt in zip(facts["attempts"], self.attempts, strict=True):
            if attempt in self.upgrades:
                attempt_facts["downtime_seconds"] = round(self.downtime_seconds(attempt), 3)
        return facts


def psql_command(statement: str, database: str | None = None) -> str:
    """A line for a shell that executes a statement; whatever is in names stays in quotes."""
    where = "" if database is None else f" -d {shlex.quote(database)}"
    return f"psql{where} -c {shlex.quote(statement)}"


def server_option(configuration: str) -> str:
    """What programs that start a server are given besides its data, with a blank before: where its
    postgresql.conf stands elsewhere, they do not find it. "": beside the data."""
    if not configuration:
        return ""
    return f" -o {shlex.quote(f'-c config_file={shlex.quote(configuration)}')}"


def literal(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def failure_words(output: str) -> str:
    """The lines of pg_upgrade's output from the step that failed on."""
    lines = [line.rstrip() for line in output.splitlines()]
    fine = [number for number, line in enumerate(lines) if line.endswith("  ok")]
    tail = lines[fine[-1] + 1 if fine else 0 :]
    return "\n".join(line for line in tail if line and line != "Failure, exiting")


def warnings_of(output: str) -> list[tuple[str, str]]:
    """Steps of pg_upgrade that ended with a warning, and the words behind each (report_status with
    PG_WARNING, src/bin/pg_upgrade/check.c)."""
    warnings: list[tuple[str, str]] = []
    step, words = "", list[str]()
    for line in [*output.splitlines(), "*end*"]:
        status = _STATUS.fullmatch(line.rstrip())
        if step and (status or line.startswith("*") or line in _HEADINGS):
            warnings.append((step, "\n".join(word for word in words if word)))
            step = ""
        if status and status[2] == "warning":
            step, words = status[1].strip(), []
        elif step:
            words.append(line.strip())
    return warnings


def without_paths(text: str, names: Sequence[tuple[str, str]]) -> str:
    """The text with paths of the rehearsal replaced by what they stand for, longest first."""
    for path, name in sorted(names, key=lambda pair: -len(pair[0])):
        text = text.replace(path, name)
    return text
