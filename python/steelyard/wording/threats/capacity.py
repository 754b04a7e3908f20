"""Says what is wrong with searches for a rate: bounds, no crossing, late drivers, few clients."""

from __future__ import annotations

from steelyard.evaluation.rates import capacity as seen
from steelyard.model.units import format_duration
from steelyard.wording.threats.advice import Texts

_AT_END = {"slowest": "did not keep", "fastest": "kept"}
"""End of the rates of a search → what the arm did there."""


def _rate_is_bound(observed: seen.RateIsBound) -> str:
    return (
        f"{observed.arm} {_AT_END[observed.end]} {observed.goal.words} at the {observed.end} rate "
        f"of its search in {observed.count} of {observed.epochs} epochs"
    )


def _never_crossed(observed: seen.LimitNeverCrossed) -> str:
    return (
        f"the later ones of {observed.visits} visits to {observed.arm} never crossed the limit in "
        f"{observed.count} of {observed.epochs} epochs"
    )


def _driver_late(observed: seen.DriverLate) -> str:
    return (
        f"transactions of {observed.arm} began {format_duration(observed.lag_ns)} late on average "
        f"near the limit, and only {100 * observed.waited / observed.begun:.0f} % of them found no "
        "idle client"
    )


def _few_clients(observed: seen.ClientsTooFew) -> str:
    clients = f"one of {observed.clients} clients" if observed.clients > 1 else "the one client"
    return (
        f"{100 * observed.waiting_share:.0f} % of the latency of {observed.arm} was waiting for "
        f"{clients}, while processors were wanted to "
        f"{100 * observed.processor_share:.0f} %"
    )


TEXTS: Texts = {
    seen.RateIsBound: _rate_is_bound,
    seen.LimitNeverCrossed: _never_crossed,
    seen.DriverLate: _driver_late,
    seen.ClientsTooFew: _few_clients,
}
