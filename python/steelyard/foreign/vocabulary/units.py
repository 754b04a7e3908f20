"""Recognizes units by their names: of time, of rates (work per time), of costs (of one operation).

A rate is composed: any noun of work "per" or "/" any unit of time. A time per operation is a time.
"""

from __future__ import annotations

import re

_TIME_WORDS = {
    "ns": ("ns", "nsec", "nsecs", "nanosecond", "nanoseconds", "nanos"),
    "µs": ("us", "µs", "μs", "usec", "usecs", "µsec", "microsecond", "microseconds", "micros"),
    "ms": ("ms", "msec", "msecs", "millisecond", "milliseconds", "millis"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
}
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Length of the units of time, in seconds."""
TIME_UNITS = {word: unit for unit, words in _TIME_WORDS.items() for word in words}
"""Word → the unit of time that it names."""
_WORK_WORDS = {
    "transactions": (
        *("transaction", "transactions", "tx", "txs", "txn", "txns", "trx", "trans"),
        *("xact", "xacts", "t"),
    ),
    "queries": ("query", "queries", "q", "statements", "statement", "stmts"),
    "requests": ("request", "requests", "req", "reqs", "r"),
    "operations": ("operation", "operations", "op", "ops", "o", "calls", "call"),
    "rows": ("row", "rows", "record", "records", "tuple", "tuples", "docs", "documents"),
    "transfers": ("transfer", "transfers"),
    "inserts": ("insert", "inserts"),
    "updates": ("update", "updates"),
    "reads": ("read", "reads", "lookups", "lookup", "scans", "scan", "selects", "select"),
    "writes": ("write", "writes"),
    "commits": ("commit", "commits"),
    "orders": ("order", "orders", "neworders"),
    "items": (
        *("item", "items", "keys", "key", "events", "event", "messages", "message", "msgs"),
        *("iterations", "iteration", "iter", "iters", "jobs", "points", "elements"),
    ),
    "B": ("b", "byte", "bytes"),
    "kB": ("kb", "kbytes", "kilobytes"),
    "KiB": ("kib", "kibibytes"),
    "MB": ("mb", "megabytes", "mbytes"),
    "MiB": ("mib", "mebibytes"),
    "GB": ("gb", "gigabytes"),
    "GiB": ("gib", "gibibytes"),
    "kbit": ("kbit", "kbits", "kilobits"),
    "Mbit": ("mbit", "mbits", "megabits"),
    "Gbit": ("gbit", "gbits", "gigabits"),
}
WORK = {word: noun for noun, words in _WORK_WORDS.items() for word in words}
"""Word → the noun of the work that it counts."""
_ONE_OPERATION = {
    *("op", "ops", "operation", "o", "query", "q", "request", "req", "transaction", "tx", "txn"),
    *("statement", "stmt", "call", "row", "record", "item", "event", "iteration", "iter", "insert"),
    *("update", "read", "write", "commit", "lookup", "scan", "key"),
}
_RATE_WORDS = {
    "transactions/s": ("tps",),
    "queries/s": ("qps",),
    "requests/s": ("rps",),
    "operations/s": ("ops", "iops"),
    "rows/s": (),
    "NOPM": ("nopm",),
    "TPM": ("tpm", "tpmc"),
    "queries/h": ("qph", "qphh", "qphds"),
    "kbps": ("kbps",),
    "Mbps": ("mbps",),
    "MiB/s": ("mibps",),
    "Gbps": ("gbps",),
    "%/s": (),
}
RATE_UNITS = {word: unit for unit, words in _RATE_WORDS.items() for word in words}
"""Word → the rate that it names alone; some mean bits by "Mbps", others bytes: as it is written."""
_PREFIXES = ("k", "m", "g")
"""Of rates, as in kQPS: thousands, millions, thousands of millions."""
_SPELLED = re.compile(r"([a-zµμ]+)\s*(?:/|_per_|\s+per\s+)\s*([a-zµμ]+)\.?")
UNIT_WORDS = (
    *TIME_UNITS,
    *RATE_UNITS,
    *(f"{work}/{time}" for work in WORK for time in ("s", "sec", "second")),
)
"""Words that name a unit by themselves, in lower case."""


def rate_unit(noun: str, time: str) -> str | None:
    """`"requests/s"` of ("req", "sec"); None where the one is no work or the other no time."""
    work, unit = WORK.get(noun), TIME_UNITS.get(time)
    return f"{work}/{unit}" if work and unit else None


def cost_unit(amount: str, noun: str) -> str | None:
    """The unit of a cost of one operation: `"ns"` of ("ns", "op"), `"B/op"` of ("b", "op"); None
    where it is none."""
    if noun not in _ONE_OPERATION:
        return None
    return TIME_UNITS.get(amount) or f"{WORK.get(amount, amount)}/op"


def unit_of(text: str) -> str | None:
    """The unit that a word names: `"ms"` of "msec", `"requests/s"` of "req/sec"; None for a word
    that names none."""
    word = text.strip().lower()
    unit = TIME_UNITS.get(word) or RATE_UNITS.get(word)
    if unit is not None:
        return unit
    if word[:1] in _PREFIXES and word[1:] in RATE_UNITS and len(word) > 3:
        return f"{word[0]}·{RATE_UNITS[word[1:]]}"
    spelled = _SPELLED.fullmatch(word)
    if spelled is None:
        return None
    return rate_unit(spelled[1], spelled[2]) or cost_unit(spelled[1], spelled[2])


def is_rate(unit: str) -> bool:
    """Whether a unit is one of work per time, of which more is better."""
    work, slash, time = unit.rpartition("/")
    bare = unit[2:] if unit[:1] in _PREFIXES and unit[1:2] == "·" else unit
    return bare in _RATE_WORDS or (bool(slash) and time in SECONDS and bool(work))


def is_cost(unit: str) -> bool:
    """Whether a unit is an amount for one operation, of which less is better."""
    return unit.endswith("/op")
