"""Puts the times of all entries of logs onto one clock, across changes of the clocks' hour and,
where stamps have no year (syslog), of the year; a log that is in no order of time is refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.model.errors import UsageError
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.workloads.capturing.logs.entry import LogEntry

ANY_YEAR = 2000
"""Of stamps without one: no log that is read is so old, and it has a 29 February."""
_YEARLESS_S = (946_684_800.0, 978_307_200.0)  # of that year, UTC
_YEAR_S = _YEARLESS_S[1] - _YEARLESS_S[0]
_HOUR_S = 3600.0
# In summer the clocks of all of these are an hour ahead (tzdata, since 2000).
_SUMMER = {
    "CEST": "CET", "EEST": "EET", "WEST": "WET", "MESZ": "MEZ", "BST": "GMT", "EDT": "EST",
    "CDT": "CST", "MDT": "MST", "PDT": "PST", "AKDT": "AKST", "HDT": "HST", "ADT": "AST",
    "NDT": "NST", "AEDT": "AEST", "ACDT": "ACST", "NZDT": "NZST", "IDT": "IST", "PKST": "PKT",
    "MSD": "MSK",
}  # fmt: skip
# Ireland's summer has the abbreviation of Israel's winter.
_AHEAD = dict.fromkeys(_SUMMER.items(), _HOUR_S) | {
    ("IST", "GMT"): _HOUR_S, ("GMT", ""): 0.0
}  # fmt: skip

_CHECKED = 1000
"""After so many entries their order is looked at, and at the end."""
_FEWEST_BACK, _LEAST_BACK_S = 2, 1.0
_FAR_BACK_S, _FEWEST_FAR = 60.0, 10
_OVERLAP_S = 60.0
"""A log may begin so long before the end of the one before it: sessions write at once."""
_FEWEST_AGAIN, _MINUTE_S = 10, 60
_COMPARED, _MOST_TURNED = 1000, 1_000_000
"""Objects that tell whether the newest come first, and so many that are turned then."""
_EXECUTED = ("duration: ", "statement: ", "execute ")


def ahead_s(zone: str, of: str) -> float | None:
    """By how many seconds one zone's clocks are ahead of another's; None: it is not known."""
    if zone == of:
        return 0.0
    ahead = _AHEAD.get((zone, of))
    behind = _AHEAD.get((of, zone))
    return ahead if behind is None else -behind


@dataclass
class _Zone:
    """What is added to the times of a zone, to be on the clock of the first one."""

    shift_s: float = 0.0
    known: bool = True


class LogClock:
    """The clock of the first entry, for all that follow it."""

    def __init__(self) -> None:
        self._zones: dict[str, _Zone] = {}
        self._latest: LogEntry | None = None
        self._latest_s = 0.0

    def at(self, entry: LogEntry) -> LogEntry:
        """The entry by this clock. Where the zone changes to one whose distance is not known its
        time counts as inexact: pauses and arrivals are then not taken from it."""
        if not entry.seconds or not entry.whole:
            return entry
        zone = self._zone(entry)
        seconds = entry.seconds + zone.shift_s
        if self._latest_s and is_yearless(entry.seconds):
            seconds += _YEAR_S * round((self._latest_s - seconds) / _YEAR_S)
        self._latest, self._latest_s = entry, seconds
        exact = entry.exact and zone.known
        if seconds == entry.seconds and exact == entry.exact:
            return entry
        return replace(entry, seconds=seconds, exact=exact)

    def _zone(self, entry: LogEntry) -> _Zone:
        zone = self._zones.get(entry.zone)
        if zone is not None:
            return zone
        latest = self._latest
        if latest is None:
            zone = _Zone()
        else:
            before = self._zones[latest.zone]
            behind_s = ahead_s(latest.zone, entry.zone)
            back_s = latest.seconds - entry.seconds
            if behind_s is None and 0 < back_s <= _HOUR_S:
                behind_s = _HOUR_S  # nothing but the end of summer sets a clock back so
            zone = _Zone(before.shift_s + (behind_s or 0.0), before.known and behind_s is not None)
        self._zones[entry.zone] = zone
        return zone


def is_yearless(seconds: float) -> bool:
    """Whether a time is of a stamp without a year."""
    return _YEARLESS_S[0] <= seconds < _YEARLESS_S[1]


def in_order(heads: Sequence[LogEntry | None]) -> list[int]:
    """The places of logs in the order of their first entries; None, which has no time, first.

    Stamps without a year begin after the longest time of a year in which no log begins.
    """
    base = next((head.zone for head in heads if head is not None), "")
    times = [
        0.0 if head is None else head.seconds + (ahead_s(base, head.zone) or 0.0) for head in heads
    ]
    order = sorted(range(len(heads)), key=lambda place: times[place])
    dated = [place for place in order if times[place]]
    if not dated or not all(is_yearless(times[place]) for place in dated):
        return order
    gaps = [times[later] - times[earlier] for earlier, later in itertools.pairwise(dated)]
    around = _YEAR_S - (times[dated[-1]] - times[dated[0]])
    if gaps and max(gaps) > around:
        first = gaps.index(max(gaps)) + 1
        dated = dated[first:] + dated[:first]
    return [place for place in order if not times[place]] + dated


class LogSpans:
    """Refuses logs whose statements are of the same time: those of two servers, of which processes
    have the same numbers, and which would be one mix."""

    def __init__(self, *, yearless: bool) -> None:
        """`yearless`: stamps have no year and no zone, and go back at the end of summer."""
        self._overlap_s = _OVERLAP_S + (_HOUR_S if yearless else 0.0)
        self._log: Path | None = None
        self._latest: tuple[Path, LogEntry] | None = None

    def require_later(self, log: Path, entry: LogEntry) -> None:
        """An entry of a log on the clock of all. UsageError: it is the first statement of its log,
        and well before the last one of those before it."""
        if not (entry.seconds and entry.whole and entry.message.startswith(_EXECUTED)):
            return
        if self._latest is None:
            self._latest = log, entry
        before, latest = self._latest
        if log != self._log and ahead_s(latest.zone, entry.zone) is not None:
            overlap_s = latest.seconds - entry.seconds
            if overlap_s > self._overlap_s:
                raise _of_same_time(before, log, overlap_s)
        self._log = log
        if entry.seconds > latest.seconds:
            self._latest = log, entry


def _of_same_time(before: Path, log: Path, overlap_s: float) -> UsageError:
    overlap = format_duration(round(overlap_s) * NS_PER_S)
    return UsageError(
        f'logs "{before}" and "{log}" are of the same time',
        detail=f"The second one begins {overlap} before the first one ends, as of two servers.",
        hint="Name those of one server. What one wrote into several logs at once must be one log "
        "first, in the order of its times.",
    )


@dataclass
class _Steps:
    """From the time of one entry of a log to that of the next."""

    forward: int = 0
    back: int = 0
    back_s: float = 0.0
    far_back: int = 0
    by_clock: int = 0
    """Back, where another zone or year may be the reason."""

    def add(self, before: LogEntry, entry: LogEntry) -> None:
        """Count the step from one entry to the next."""
        step_s = entry.seconds - before.seconds
        self.by_clock += step_s < 0 and (
            before.zone != entry.zone or (is_yearless(entry.seconds) and step_s < -_YEAR_S / 2)
        )
        self.forward += step_s > 0
        self.back += step_s < 0
        self.back_s -= min(step_s, 0.0)
        self.far_back += step_s < -_FAR_BACK_S

    @property
    def is_backward(self) -> bool:
        """Whether most go back. A few do in any log: sessions write at once, clocks are set, files
        are put together. In a log that has no step forward one is enough."""
        alone = not self.forward and not self.by_clock
        fewest = 1 if alone else _FEWEST_BACK
        is_far = self.back >= fewest and self.back_s > _LEAST_BACK_S
        return is_far and self.back > 2 * self.forward

    @property
    def is_shuffled(self) -> bool:
        """Whether many go far back: of files that were put together one does for each."""
        return self.far_back >= _FEWEST_FAR and 4 * self.far_back > self.forward + self.back


@dataclass
class _Runs:
    """Which minutes a log has, and has again after it went far back: that of files of one server,
    in whatever order they were put together, has none so, but where it went on in the next."""

    again: int = 0
    """Entries of statements in minutes of what came before the log went back, behind others of
    their session: the last one of each session may come late (syslog.py)."""
    _highest_s: float = 0.0
    _covered: set[int] = field(default_factory=set)
    _current: set[int] = field(default_factory=set)
    _again: set[int] = field(default_factory=set)
    _sessions: set[str] = field(default_factory=set)
    """Of the entries since the log went back."""

    def add(self, before: LogEntry, entry: LogEntry) -> None:
        """Note an entry behind another one."""
        if before.seconds - entry.seconds > _FAR_BACK_S and before.zone == entry.zone:
            self._covered |= self._current
            self._current = set()
        minute = int(entry.seconds) // _MINUTE_S
        self._current.add(minute)
        self._highest_s = max(self._highest_s, entry.seconds)
        if entry.seconds >= self._highest_s - _FAR_BACK_S:
            self._sessions.clear()
        elif minute in self._covered and entry.message.startswith(_EXECUTED):
            if entry.session in self._sessions:
                self.again += 1
                self._again.add(minute)
            self._sessions.add(entry.session)

    def require_new_minutes(self, path: Path, *, yearless: bool) -> None:
        """UsageError: the log has the same times twice. `yearless`: stamps have no zone either, and
        go back at the end of summer."""
        allowed_s = _OVERLAP_S + (_HOUR_S if yearless else 0.0)
        minutes = len(self._again) - 2  # of the first and the last one a part
        if self.again >= _FEWEST_AGAIN and minutes * _MINUTE_S >= allowed_s:
            raise UsageError(
                f'could not read log "{path}": it has the same times twice, as of two servers',
                detail=f"{self.again} entries are of the same minutes as what comes before their "
                "time goes back.",
                hint="Name those of one server. What one wrote into several logs at once must be "
                "put in the order of its times.",
            )


def require_time_order(path: Path, entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """The entries of a log, as they come. UsageError: the newest come first, or they are in no
    order: statements would be read behind their COMMIT, with the values of others."""
    steps, runs = _Steps(), _Runs()
    latest: LogEntry | None = None
    for number, entry in enumerate(entries, 1):
        if entry.seconds and entry.whole:
            steps.add(latest or entry, entry)
            runs.add(latest or entry, entry)
            latest = entry
        if number % _CHECKED == 0:
            _require_forward(path, steps)
        yield entry
    _require_forward(path, steps)
    if latest is not None:
        runs.require_new_minutes(path, yearless=is_yearless(latest.seconds))


def _require_forward(path: Path, steps: _Steps) -> None:
    if steps.is_backward:
        raise UsageError(
            f'could not read log "{path}": its newest entries come first',
            detail=f"Times go back {_times(steps.back)}, and forward {_times(steps.forward)}.",
            hint="tac LOG > NEW turns it where each entry is one line; journalctl does without -r, "
            "logcli with --forward.",
        )
    if steps.is_shuffled:
        raise UsageError(
            f'could not read log "{path}": its entries are in no order of time',
            detail=f"Times go back by more than a minute {steps.far_back} times.",
            hint="Export it again in the order of its times, the oldest first.",
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def oldest_first(path: Path, values: Iterator[Any]) -> Iterator[Any]:
    """The oldest first. UsageError: they are the newest first, and too many to be turned."""
    head = list(itertools.islice(values, _COMPARED))
    if not _is_newest_first(head):
        yield from itertools.chain(head, values)
        return
    every = [*head, *itertools.islice(values, _MOST_TURNED)]
    if next(values, None) is not None:
        raise UsageError(
            f'could not read log "{path}": its newest entries come first, and they are more than '
            f"{_MOST_TURNED}",
            hint="tac LOG > NEW turns it where each entry is one line; or export it with the "
            "oldest first.",
        )
    yield from reversed(every)


def _is_newest_first(values: Iterable[Any]) -> bool:
    stamps = [str(v.get("timestamp", "")) for v in values if isinstance(v, Mapping)]
    nonempty = [stamp for stamp in stamps if stamp]
    return len(nonempty) > 1 and nonempty[0] > nonempty[-1]
