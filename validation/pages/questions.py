"""The table of the built-in studies: question, minutes, needs, and what was read on one machine."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.model.units import NS_PER_S
from steelyard.reproductions.reproduction import machines_words
from steelyard.running.layout_choice import LAYOUTS, choose_layout
from steelyard.study.read import builtin_studies, read_study
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import resolve
from validation.pages.table import table

Json = Mapping[str, Any]
BEGIN, END = "<!-- the table of studies begins -->", "<!-- the table of studies ends -->"
UNREAD = "not yet read"
NOT_TO_BE_READ = "no server is to be had here"
_HEAD = ["study", "question", "minutes", "needs", "reading on the development machine"]
_NEEDS = {
    "jit": "a build with LLVM",
    "lz4": "a build with lz4",
    "zstd": "a build with zstd",
    "io_uring": "a build with liburing",
    "tls": "a build with OpenSSL; openssl",
    "huge_pages": "reserved huge pages",
    "pgbouncer": "PgBouncer",
}
_BUNDLED = ("16", "18")
"""Versions that come with the packages, without contrib."""
_BY_ADDRESS = "sqlserver"
"""The engine of which no server is made here."""
_OWN = "own"
"""The workload whose scripts are the user's."""


def page_with_table(page: str, results: Sequence[Json]) -> str:
    """The page with the table of now between its two marks; ValueError: it has no marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page has no place for the table of studies")
    return f"{before}{BEGIN}\n\n{questions(results)}\n\n{END}{after}"


def questions(results: Sequence[Json]) -> str:
    """The table, a row a built-in study, and what its readings are of. `results`: of several of
    one key the last counts."""
    by_key = {result["key"]: result for result in results}
    studies = [read_study(name) for name in builtin_studies()]
    rows = [
        [
            f"`{study.name}`",
            study.question,
            str(minutes(study)),
            needs(study) or "nothing",
            reading(by_key[study.name], _quantity(study))
            if study.name in by_key
            else _unread(study),
        ]
        for study in studies
    ]
    machines = [result["machine"] for result in by_key.values() if "machine" in result]
    parts = [table(_HEAD, rows)]
    if machines:
        parts.append(f"Read on: {machines_words(machines)}.")
    commands = [_command(by_key[s.name]) for s in studies if s.name in by_key]
    changed = [f"`{command}`" for name, command in commands if command != f"steelyard weigh {name}"]
    if changed:
        parts.append(f"Weighed with other words than the study's name alone: {', '.join(changed)}.")
    return "\n\n".join(parts)


def minutes(study: Study) -> int:
    """About how long it takes, all in all, with the budget that the study has."""
    # Scripts that nobody knows yet: reads, as far as one can say.
    custom = study.workload.name == _OWN
    layout = choose_layout(study, () if custom else resolve(study.workload).scripts)
    return max(1, round(LAYOUTS[layout.name].takes_ns(study) / NS_PER_S / 60))


def needs(study: Study) -> str:
    """What must be there, in words; empty where the bundled builds do."""
    versions = {arm.version for arm in study.every_arm}
    if study.engine == _BY_ADDRESS:
        parts = ["a SQL Server of yours (`--address`)"]
    else:
        parts = [f"`steelyard engines add {name}`" for name in sorted(versions - {*_BUNDLED})]
    contrib = study.contrib and not versions.isdisjoint(_BUNDLED)
    parts += ["contrib (`steelyard engines add 18.4`)"] if contrib else []
    parts += [_NEEDS[need] for need in study.needs]
    of_arms = {need for arm in study.arms for need in arm.needs if need in _NEEDS}
    parts += [f"for all arms {_NEEDS[need]}" for need in sorted(of_arms)]
    parts += ["the right to cap memory"] if study.memory is not None else []
    parts += ["running servers, and scripts of yours"] if study.workload.name == _OWN else []
    parts += ["settings, builds or versions of yours for the arms"] if _is_a_users(study) else []
    return "; ".join(parts)


def reading(line: Json, quantity: str = "") -> str:
    """What was read of each arm, or why it could not be; `quantity`: " of time"."""
    if "refused" in line:
        return f"cannot be had there: {line['refused']}"
    contrasts = line.get("contrasts") or [line]
    return "; ".join(_contrast(each, quantity) for each in contrasts)


def _quantity(study: Study) -> str:
    """What the percents of a study are of, where that is not throughput."""
    return " of time" if study.decision.metric == "geometric_mean" else ""


def _unread(study: Study) -> str:
    """Whose arms are a user's own has no reading of ours."""
    if study.name == "calibrate":
        return "[readings beside truths](calibrate.md)"
    if study.engine == _BY_ADDRESS:
        return NOT_TO_BE_READ
    return "of your own arms" if _is_a_users(study) else UNREAD


def _is_a_users(study: Study) -> bool:
    return len(study.equals) == len(study.arms) and study.name != "aa"


def _contrast(line: Json, quantity: str) -> str:
    ends = ["unbounded" if line[f"{end}_percent"] is None else f"{line[f'{end}_percent']:+.1f}"
            for end in ("low", "high")]  # fmt: skip
    middle = "–" if line["estimate_percent"] is None else f"{line['estimate_percent']:+.1f}"
    name = f"{line['arm']} against {line['control']}"
    return f"{name} {middle} %{quantity} [{ends[0]}, {ends[1]}], {line['verdict']}"


def _command(line: Json) -> tuple[str, str]:
    arguments = list(line["words"])
    if "--seed" in arguments:
        position = arguments.index("--seed")
        del arguments[position : position + 2]
    return str(line["key"]), shlex.join(["steelyard", "weigh", *arguments])
