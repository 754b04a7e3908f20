"""Words of a ranking of machines, for the terminal and the site."""

from __future__ import annotations

from steelyard.fleet.machines import MachineGroup, Ranked
from steelyard.model.price import money_with_ends
from steelyard.model.units import format_rate, format_reading


def alone_words(group: MachineGroup, first: MachineGroup | None) -> str:
    """A machine that no other did the same as, and in which keys."""
    machine = group.by_throughput[0].machine
    name = f"{machine.name} ({throughput_text(group.by_throughput[0])})"
    if first is None:
        return f"{name}: no other machine did the same: {group.words}"
    return f"{name}: {first.differs_in(group)}"


def currencies_text(group: MachineGroup) -> str:
    """Why priced machines are in no ranking by cost; empty: their prices are in one currency."""
    if len(group.currencies) < 2:
        return ""
    return f"no ranking by cost: prices in several currencies ({', '.join(group.currencies)})"


def throughput_text(ranked: Ranked) -> str:
    """`"5,210 [5,100, 5,320] /s"`."""
    low, high = (
        "unbounded" if end is None else format_rate(end) for end in ranked.machine.throughput_ends
    )
    return f"{format_rate(ranked.machine.throughput)} [{low}, {high}] /s"


def cost_text(ranked: Ranked) -> str:
    """`"0.0280 [0.0275, 0.0285] USD"`; empty: it has no price."""
    machine, price = ranked.machine, ranked.machine.price
    if price is None or machine.cost is None:
        return ""
    return money_with_ends(machine.cost, machine.cost_ends, price.currency)


def place_text(ranked: Ranked, rank: int) -> str:
    """Against the first: `"−12.30 % [−13.00, −11.60]"`, or that they cannot be told apart."""
    if rank == 0:
        return "first"
    if ranked.against_first is None:
        return "no interval"
    reading = format_reading(*ranked.against_first)
    return reading if ranked.apart else f"{reading}, not told apart from the first"
