"""Formats a drill as text: a sentence, matrices of fault by check, what is missed and why; and one
of InnoDB, for each checksum algorithm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.integrity.drill.matrix import (
    HANGS,
    NO_START,
    PLANTED,
    QUERY_ERROR,
    SERVER_LOG,
    UNNOTICED,
    WRONG_ANSWER,
    Rate,
    partly_planted,
)
from steelyard.integrity.innodb.drill import DIED, INNOCHECKSUM, SCRUB, InnodbDrillResult
from steelyard.model.units import format_digits
from steelyard.report.drill import COLUMNS, grids, noticed_of_100, table, text_of, ways

Facts = Mapping[str, Any]
WHY = {
    "one bit": "16 bits: about 1 of 65,535 flips leaves the sum as it was",
    "zeroed sector": "the checksum alone passes the first sector, which makes the page look new; "
    "header sanity, with which the server and scrub read, sees that it is not empty; where nothing "
    "stood behind that sector, as in a small visibility map, it is empty, and no check can refuse "
    "it",
    "shifted page": "the same, where what moved left a pd_upper of 0",
    "zeroed page": "a page of zeroes is one that was never used: no check of pages can refuse it",
    "misdirected by 65,535 blocks": "the block's number is mixed in by XOR before the remainder by "
    "65,535, in which 65,535 and 0 are the same",
    "misdirected by 65,537 blocks": "as 65,535: in the remainder 65,537 is 2, and two bits may "
    "cancel",
    "from another relation": "the sum knows the block's number, not the relation",
    "lost write": "an old page with an old and right checksum; only its LSN is lower",
    "stale file": "old pages with right checksums; only their LSNs are lower",
    "truncated segment": "a shorter file is a shorter table: its length is stored nowhere",
}
_TITLES = (
    (QUERY_ERROR, "error"),
    (WRONG_ANSWER, "wrong"),
    (HANGS, "hangs"),
    (DIED, "dies"),
    (NO_START, "no start"),
    (SERVER_LOG, "log"),
    (UNNOTICED, "none"),
    (INNOCHECKSUM, "innochecks."),
    (SCRUB, "scrub"),
)


def render(facts: Facts) -> str:
    """The complete text of a drill."""
    lines = [sentence(facts), ""]
    if facts["interrupted"]:
        lines += ["It ended early: what follows was seen by then.", ""]
    lines += [f"PostgreSQL {facts['version']}, seed {facts['seed']}; noticed of 100, by fault and "
              "check; off, on, ign: checksums off, on, ignore_checksum_failure; none: not noticed; "
              "one copy may count as an error and a wrong answer"]  # fmt: skip
    files = table(facts["files"])
    if files:
        lines += [certainty(facts["copies"])]
        lines += ["", "Whole servers, all places together:", *matrix(files)]
    lines += [""]
    for place in dict.fromkeys(cell["place"] for cell in facts["files"]):
        of_place = table(cell for cell in facts["files"] if cell["place"] == place)
        lines += [f"In {place}:", *matrix(of_place), ""]
    for arm in ("off", "on") if files else ():
        lines += [f"By the way of asking, checksums {arm}:", *matrix(files, ways(arm)), ""]
    lines += not_planted(facts["files"], "on")
    for grid in grids(facts):
        lines += [*text_of(grid), ""]
    if facts["pages"]:
        lines += ["In memory, undetected of a million (or in percent) [95 %]:"]
        lines += [*_pages(facts["pages"]), "", "What is missed, and why:"]
        lines += [f"  {fault}: {why}" for fault, why in WHY.items()]
    if not facts["amcheck"]:
        lines += ["amcheck was not there (`steelyard engines add` brings contrib)."]
    return "\n".join(lines)


def certainty(times: int) -> str:
    """What shares of 0 and 100 mean for so many faults of a kind."""
    none, every = Rate(0, times).interval()[1], Rate(times, times).interval()[0]
    return (
        f"(of {times} times a 0 means 0 to {100 * none:.0f}, a 100 means {100 * every:.0f} to 100, "
        "at 95 %)"
    )


def sentence(facts: Facts) -> str:
    """ "You catch ...; you still miss .... The price: throughput changes by ..."."""
    from steelyard.integrity.checksum_cost import ChecksumCost, cost_words

    if not facts["pages"]:
        return (
            "What checksums catch and miss is shown by the drill's part memory, which was not run."
        )
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for cell in facts["pages"]:
        shares[cell["check"]][cell["fault"]] = cell["share"]
    # A scrub applies both rules, as the server does with checksums.
    both = shares["page checksum"] | shares["scrub"]
    header_faults = [fault for fault, share in shares["header sanity"].items() if share >= 0.99]
    remaining = {fault: share for fault, share in both.items() if fault not in header_faults}
    caught = [fault for fault, share in remaining.items() if share >= 0.99]
    missed = [f"{fault} ({format_digits(100 * (1 - share), 3)} % of them)"
              for fault, share in remaining.items() if share < 0.99]  # fmt: skip
    files = {cell["fault"] for cell in facts["files"]} & {"stale file", "truncated segment"}
    cost = ChecksumCost(**facts["cost"]) if facts["cost"] else None
    return (
        f"You catch {', '.join(caught)}; you still miss {', '.join([*missed, *sorted(files)])}."
        + (f" {', '.join(header_faults)} the server sees without them." if header_faults else "")
        + f" The price: {cost_words(cost)}."
    )


def matrix(
    rows: Mapping[str, Mapping[tuple[str, str], tuple[int, int]]],
    columns: Sequence[tuple[str, str, str]] = COLUMNS,
) -> list[str]:
    """One line for each fault: percent noticed by each check; "-" where it was not run."""
    width = max((len(fault) for fault in rows), default=0)
    head = " " * width + "  times" + "".join(f" {title:>11}" for _, _, title in columns)
    lines = [head]
    for fault, cells in rows.items():
        times = max((n for (check, _), (_, n) in cells.items() if check != PLANTED), default=0)
        if not times:
            continue
        line = f"{fault.ljust(width)} {times:6}"
        for check, arm, _ in columns:
            noticed, of = cells.get((check, arm), (0, 0))
            line += f" {noticed_of_100(noticed, of) if of else '-':>11}"
        lines.append(line)
    return lines


def not_planted(cells: Sequence[Facts], arm: str) -> list[str]:
    """Places in which a fault was planted in fewer copies, by one arm, which is as all are."""
    few = [
        f"  {cell['fault']}, {cell['place']}: {cell['noticed']} of {cell['times']}"
        for cell in partly_planted(cells, arm)
    ]
    title = "Planted in fewer copies, since in the others nothing would have changed:"
    return [title, *few, ""] if few else []


def _pages(cells: Sequence[Facts]) -> list[str]:
    by_fault: dict[str, dict[str, Facts]] = defaultdict(dict)
    for cell in cells:
        by_fault[cell["fault"]][cell["check"]] = cell
    checks = list(next(iter(by_fault.values()), {}))
    width = max((len(fault) for fault in by_fault), default=0)
    lines = [" " * width + "".join(f"  {check:>24}" for check in checks)]
    for fault, row in by_fault.items():
        lines.append(fault.ljust(width) + "".join(f"  {undetected(row[c]):>24}" for c in checks))
    return lines


def undetected(cell: Facts) -> str:
    """Undetected of a million with its interval, `"15 [8.4, 24.7]"`; many in percent; or all."""
    missed, low, high = (1e6 * (1 - cell[name]) for name in ("share", "high", "low"))
    if not cell["noticed"]:
        return "all"
    if missed >= 1e4:
        return f"{missed / 1e4:.1f} % [{low / 1e4:.1f}, {high / 1e4:.1f}]"
    return f"{format_digits(missed, 3)} [{format_digits(low, 3)}, {format_digits(high, 3)}]"


def render_algorithms(facts: Facts) -> str:
    """Speeds, then undetected faults, of every way to verify a page."""
    ways = facts["algorithms"]
    names = [f"{way['algorithm']}, {way['identity']}" for way in ways]
    speeds = [
        (f"{name}, {kernel}" if kernel else name, modes)
        for name, way in zip(names, ways, strict=True)
        for kernel, modes in way["speeds"].items()
    ]
    width = max(len(name) for name, _ in speeds)
    modes = list(speeds[0][1])
    lines = [
        "8 kB pages on one core, GB/s: median of the rounds [lowest, highest] (time stamp ticks a "
        "page)",
        "",
        " " * width + "".join(f"{mode:>28}" for mode in modes),
    ]
    for name, by_mode in speeds:
        cells = [by_mode[mode] for mode in modes]
        lines.append(name.ljust(width) + "".join(f"{speed_words(cell):>28}" for cell in cells))
    lines += ["", "Undetected, in percent of the times that a fault was planted [95 %]", ""]
    for fault in ways[0]["faults"]:
        lines.append(f"{fault} ({ways[0]['faults'][fault]['times']} times)")
        for name, way in zip(names, ways, strict=True):
            cell = way["faults"][fault]
            missed, low, high = (100 * (1 - cell[n]) for n in ("share", "high", "low"))
            span = ", ".join(format_digits(end, 3) for end in (low, high))
            lines.append(f"  {name.ljust(width)} {format_digits(missed, 4):>10} [{span}]")
    lines += ["", answer(ways)]
    return "\n".join(lines)


def speed_words(cell: Facts) -> str:
    """`"57.0 [55.1, 58.2] (404)"`."""
    middle, low, high = (f"{cell[key]:.1f}" for key in ("gigabytes_per_s", "low", "high"))
    return f"{middle} [{low}, {high}] ({cell['ticks_per_page']:.0f})"


def answer(ways: Sequence[Facts]) -> str:
    """Torn-page detection or a checksum: what each costs and misses, by the numbers above."""
    lines = []
    for way in ways:
        compared = way["algorithm"] in ("torn-page bits", "SQL Server CHECKSUM", "PostgreSQL")
        id_kept = way["identity"] == "page id in the header"
        if not compared or not (
            id_kept or way["identity"] == _NATIVE_IDENTITY.get(way["algorithm"])
        ):
            continue
        shares = {fault: cell["share"] for fault, cell in way["faults"].items()}
        caught = [fault for fault, share in shares.items() if share >= 0.99]
        passed = [fault for fault, share in shares.items() if share <= 0.01]
        partly = [f"{fault} {100 * (1 - share):.0f} %" for fault, share in shares.items()
                  if 0.01 < share < 0.99]  # fmt: skip
        read = [
            f"{modes['read cached']['gigabytes_per_s']:.1f} GB/s{' by ' if kernel else ''}{kernel}"
            for kernel, modes in way["speeds"].items()
        ]
        lines.append(
            f"{way['algorithm']}, {way['identity']}: {' or '.join(read)} on a core "
            f"when a cached page is read; sees {', '.join(caught) or 'nothing'}; "
            f"misses {', '.join([*passed, *partly]) or 'nothing'}."
        )
    lines.append("A crash's torn pages full_page_writes heals, so that there is nothing to detect.")
    return "\n".join(lines)


_NATIVE_IDENTITY = {"torn-page bits": "none", "SQL Server CHECKSUM": "none", "PostgreSQL": "block"}
"""The identity that each algorithm mixes into its sum in its own product."""


def render_innodb(result: InnodbDrillResult) -> str:
    """The complete text of a drill."""
    lines = [
        f"{result.product}, seed {result.seed}; noticed of 100, by fault and check; error, "
        "wrong, hangs, dies: how the queries of a running server ended; log: its log names the "
        "table; none: neither"
    ]
    if result.ended_by is not None:
        lines += ["", "It ended early: what follows was seen by then."]
    cells = result.files.to_json()
    lines += [certainty(result.copies)] if cells else []
    places = list(dict.fromkeys(cell["place"] for cell in cells))
    for algorithm in result.algorithms:
        columns = [(check, algorithm, title) for check, title in _TITLES]
        of_arm = [cell for cell in cells if cell["arm"] == algorithm]
        for where in ("", *places):
            here = [cell for cell in of_arm if where in ("", cell["place"])]
            if here:
                scope = f"in {where}" if where else "all places together"
                title = f"innodb_checksum_algorithm = {algorithm}, {scope}:"
                lines += ["", title, *matrix(table(here), columns)]
    few = not_planted(cells, result.algorithms[0])
    return "\n".join([*lines, *(["", *few] if few else [])])
