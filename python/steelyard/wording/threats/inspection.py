"""Says what arms show before they are weighed: builds, plans, machine, ledger, settings, places."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten

from steelyard.analysis.calibration import OFF_BALANCE
from steelyard.evaluation.threats import inspection as seen
from steelyard.evaluation.threats.inspection import DirectoriesTied, PagesMayTear
from steelyard.model.units import format_digits
from steelyard.wording.threats.advice import OwnAdvice, Texts, ThreatWords

MOST_STATEMENTS = 3
MOST_WORDS = 160
"""Statements, and characters of each, that a threat names."""
MOST_FLIPS = 2
"""Flips of each."""


def _machine_changed(observed: seen.MachineChanged) -> str:
    return "; ".join(observed.changes)


def _debug_build(_: seen.DebugBuild) -> str:
    return "the load driver is a debug build"


def _ledger(observed: seen.LedgerOffBalance) -> str:
    times = "1 weighing" if observed.weighings == 1 else f"{observed.weighings} weighings"
    return (
        f"{times} of equal arms on this machine reached an e-value of "
        f"{format_digits(observed.largest_e_value, 3)}; "
        f"equal arms reach {OFF_BALANCE:g} on 1 machine of 100 at most, however often one looks"
    )


def _builds_differ(observed: seen.BuildsDiffer) -> str:
    """`on and off: origin: bundle and npm; cflags: -O2 and -Os`: the control's value first."""
    differences = "; ".join(
        f"{name}: {ours} and {theirs}" for name, ours, theirs in observed.differences
    )
    return f"{observed.control} and {observed.arm}: {differences}"


def _plans_differ(observed: seen.PlansDiffer) -> str:
    """The first few, those with a flip before the others, each cut to what distinguishes it and
    with what flipped; and how many more there are."""
    ordered = sorted(observed.statements, key=lambda statement: not statement[1])
    listed = "; ".join(_with_flips(text, flips) for text, flips in ordered[:MOST_STATEMENTS])
    more = len(ordered) - MOST_STATEMENTS
    rest = f"; and {more} more" if more > 0 else ""
    return f"{observed.control} and {observed.arm}: {listed}{rest}"


def _with_flips(statement: str, flips: Sequence[str]) -> str:
    shortened = shorten(statement, MOST_WORDS, placeholder=" …")
    if not flips:
        return shortened
    more = len(flips) - MOST_FLIPS
    listed = ", ".join(flips[:MOST_FLIPS]) + (f" and {more} more" if more > 0 else "")
    return f"{shortened} flipped: {listed}"


def _settings_missing(observed: seen.SettingsMissing) -> str:
    return observed.why


def _setting_replaced(observed: seen.SettingReplaced) -> str:
    return (
        f"{observed.setting} is {observed.theirs} there, and {observed.used} here: {observed.why}"
    )


_TIED_CAUSE = (
    "the study puts each arm's files in a place of its own: the place is the treatment, with "
    "whatever else is tied to it, such as this device and how full and how old its file system is"
)
_TIED_ADVICE = (
    "read it as a figure of these places as they are; for a kind of file system make each anew on "
    "the same device, and for a kind of device weigh on several (steelyard fleet)"
)


def _tied(observed: DirectoriesTied) -> str:
    return " | ".join(f"{arm}: {places.words}" for arm, places in observed.places.items())


def _tied_advice(_: DirectoriesTied) -> ThreatWords:
    return ThreatWords(_TIED_CAUSE, _TIED_ADVICE)


def _torn(observed: PagesMayTear) -> str:
    place = observed.place
    where = f"{place.type or 'an unknown file system'} on {place.source or 'no device'}"
    off = f"{observed.setting} = off on {where}"
    return f"{observed.arm} has {off}, which does not promise whole pages"


TEXTS: Texts = {
    seen.MachineChanged: _machine_changed,
    seen.DebugBuild: _debug_build,
    seen.LedgerOffBalance: _ledger,
    seen.BuildsDiffer: _builds_differ,
    seen.PlansDiffer: _plans_differ,
    seen.SettingsMissing: _settings_missing,
    seen.SettingReplaced: _setting_replaced,
    DirectoriesTied: _tied,
    PagesMayTear: _torn,
}
OWN_ADVICE: OwnAdvice = {DirectoriesTied: _tied_advice}
