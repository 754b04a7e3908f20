"""Weighs PostgreSQL 18 against 16, 19 against 18, or 16 to 18 step by step, on each workload.

    python -m validation.versions [--pair 16-to-18] [--records DIR] [--only NAME]

Every weighing is the command that its page shows, with a fixed seed; its result is a line of
results/versions*.jsonl, and what has a line of this very command is not weighed again. What writes
in many pages is weighed over whole checkpoint cycles; `--pair 16-to-18` weighs three versions at
once, in cycles. At the end the page in docs/results/ is written of the lines. 18 and 19 are
Debian's, of one source: `steelyard engines add debian-18` and `debian-19` bring them; those of the
steps are of one builder too: `engines add npm-16.14 npm-17.10 npm-18.4`. Wants an otherwise idle
machine: half an hour or so for each that writes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.record.record import Record
from validation.pages import folded
from validation.pages.versions import Pair, page
from validation.results import FOLDER, Results
from validation.weigh_command import environment_of, machine_of, revision, run_weigh

RESULTS = Results(FOLDER / "versions.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "results" / "18-against-16.md"
FORM = folded.Form(most_cells=12, stay=("workload", "study"))
OF_18 = Pair("16", "18")
SEED = 1
_COMMAND = "python -m validation.versions"
_BY_TIME = ("--budget", "60s")
_IN_TURNS = ("--budget", "30m")
_IN_LONG_TURNS = ("--budget", "40m")
"""Where checkpoints are further apart: eight epochs take more than half an hour."""
_BOTH = ("--set", "control.version=16", "--set", "arm.version=18")
_TOUCHES = "budget.counted={each = 100, blocks = 12, warmup = 2}"
WEIGHINGS: Mapping[str, Sequence[str]] = {
    "tproc-c": ("versions", "--set", "workload=tproc-c", *_IN_TURNS),
    "tproc-c-client": ("versions", "--set", "workload=tproc-c-client", *_IN_TURNS),
    "reserva": ("versions", "--set", "workload=reserva", *_IN_LONG_TURNS),
    "select-insert": ("versions", "--set", "workload=select-insert", *_IN_LONG_TURNS),
    "tproc-h": ("queries", *_BOTH, *_BY_TIME),
    "insert-read": (
        *("versions", "--set", "workload=insert-read", "--set", "workload.scale=1000"),
        *("--set", "workload.clients=1", "--set", "cost=foreground"),
        *("--set", _TOUCHES, "--set", "budget.epochs=12"),
    ),
}
_THREE_VERSIONS = "validation/16-17-18.toml"
STEPS: Mapping[str, Sequence[str]] = {
    "pgbench": (_THREE_VERSIONS,),
    "tproc-c": (_THREE_VERSIONS, "--set", "workload=tproc-c"),
    "reserva": (_THREE_VERSIONS, "--set", "workload=reserva"),
}
"""All three versions in one weighing: two steps, and both in one."""
_BRIEFLY = ("--budget", "20m")
"""In cycles: eight epochs, with checkpoints a quarter of a minute apart."""
_OF_DEBIAN = ("--set", "control.version=debian-18", "--set", "arm.version=debian-19")
_WITHIN_18 = ("--set", "control.version=debian-18", "--set", "arm.version=debian-18")
_WITHIN_19 = ("--set", "control.version=debian-19", "--set", "arm.version=debian-19")
_AS_SHIPPED = ("--set", "defaults=as-shipped")
_FOREIGN_KEYS = (
    'sql=["CREATE TABLE parents (id int PRIMARY KEY)", '
    '"INSERT INTO parents SELECT generate_series(1, 100000)", '
    '"CREATE TABLE children (parent int REFERENCES parents, note text)"]'
)
_CHILD = (
    "workload.texts={child = '''\n\\set id random(1, 100000)\n"
    "INSERT INTO children VALUES (:id, 'one'), (:id, 'two');\n'''}"
)
_ANALYZE = (
    "workload.texts={analyze = 'EXPLAIN ANALYZE SELECT sum(abalance) FROM pgbench_accounts;'}"
)
_AUTO_EXPLAIN = (
    *("--set", "settings.shared_preload_libraries=auto_explain"),
    *("--set", "settings.auto_explain.log_min_duration=10s"),
    *("--set", "settings.auto_explain.log_analyze=on"),
)
_READS = ("--set", "workload.scripts={select-only = 1}", "--set", "cost=foreground", *_BY_TIME)
_DOCUMENTS = (
    'sql=["CREATE TABLE documents (id int PRIMARY KEY, body text)", '
    '"INSERT INTO documents SELECT i, (SELECT string_agg(md5((i * j)::text) || '
    "' the same words stand in every line of it ', '') FROM generate_series(1, 140) j) "
    'FROM generate_series(1, 5000) i"]'
)
_WRITE = (
    "workload.texts={write = '''\n\\set id random(1, 5000)\n"
    "UPDATE documents SET body = reverse(reverse(body)) WHERE id = :id;\n'''}"
)
_COPY = """workload.texts={copy = "COPY pgbench_accounts TO '/dev/null';"}"""
_SCAN = "budget.counted={each = 1, blocks = 16, warmup = 2}"
OF_19: Mapping[str, Sequence[str]] = {
    "pgbench": ("versions", *_OF_DEBIAN, *_BRIEFLY),
    "pgbench-as-shipped": ("versions", *_OF_DEBIAN, *_AS_SHIPPED, *_BRIEFLY),
    "tproc-c": ("versions", "--set", "workload=tproc-c", *_OF_DEBIAN, *_BRIEFLY),
    "reserva": ("versions", "--set", "workload=reserva", *_OF_DEBIAN, *_BRIEFLY),
    "select-insert": ("versions", "--set", "workload=select-insert", *_OF_DEBIAN, *_BRIEFLY),
    "foreign-keys": (
        *("versions", *_OF_DEBIAN, "--set", _FOREIGN_KEYS),
        *("--set", "workload.scripts={child = 1}", "--set", _CHILD, *_BRIEFLY),
    ),
    "explain-analyze": (
        *("versions", *_OF_DEBIAN, "--set", "cost=foreground", "--set", "workload.clients=1"),
        *("--set", "workload.scripts={analyze = 1}", "--set", _ANALYZE, "--set", _SCAN),
    ),
    "copy": (
        *("versions", *_OF_DEBIAN, "--set", "cost=foreground", "--set", "workload.clients=1"),
        *("--set", "workload.scripts={copy = 1}", "--set", _COPY, "--set", _SCAN),
    ),
    "select-only": ("versions", *_OF_DEBIAN, *_READS),
    "auto-explain": ("versions", *_OF_DEBIAN, *_AUTO_EXPLAIN, *_READS),
    "toast-as-shipped": (
        *("versions", *_OF_DEBIAN, *_AS_SHIPPED, "--set", _DOCUMENTS),
        *("--set", "workload.scale=1", "--set", "workload.clients=4"),
        *("--set", "workload.scripts={write = 1}", "--set", _WRITE, *_BRIEFLY),
    ),
    "tproc-h": ("queries", *_OF_DEBIAN, *_BY_TIME),
    "checksums-18": ("checksums", *_WITHIN_18, "--budget", "5m"),
    "checksums-19": ("checksums", *_WITHIN_19, "--budget", "5m"),
}
"""What is weighed of 19 against 18, and of checksums within each. Not of jit, whose default is off
from 19 on: LLVM is in none of these builds, so that it does nothing in either."""
_OF_A_CONTRAST = (
    "metric",
    "estimate_percent",
    "low_percent",
    "high_percent",
    "verdict",
    "epochs",
    "blocks",
    "sentence",
)
_OF_A_MEASURE = (
    "metric",
    "unit",
    "control_value",
    "arm_value",
    "estimate_percent",
    "low_percent",
    "high_percent",
)
_OF_A_VERDICT = ("layout", "time_scale", "distance_seconds", "measured_seconds", "seconds")
_OF_AN_ARM = ("version", "builder")
_OF_THE_WORKLOAD = ("name", "scale", "options", "clients", "threads")


@dataclass(frozen=True)
class Comparison:
    """Two versions, what is weighed of them, and where it is kept."""

    weighings: Mapping[str, Sequence[str]]
    results: Results
    page: Path
    pair: Pair


def comparisons() -> Mapping[str, Comparison]:
    """Every pair of versions that has a page, or will."""
    results = Results(FOLDER / "versions-19.jsonl")
    command_line = f"{_COMMAND} --pair 19-against-18"
    of_19 = Pair("18", "19", command_line, results.path.name)
    steps = Results(FOLDER / "versions-steps.jsonl")
    stepwise = Pair("16", "18", f"{_COMMAND} --pair 16-to-18", steps.path.name, between=("17",))
    return {
        "18-against-16": Comparison(WEIGHINGS, RESULTS, PAGE, OF_18),
        "16-to-18": Comparison(STEPS, steps, PAGE.with_name("16-to-18.md"), stepwise),
        "19-against-18": Comparison(OF_19, results, PAGE.with_name("19-against-18.md"), of_19),
    }


def command(name: str, weighings: Mapping[str, Sequence[str]] = WEIGHINGS) -> list[str]:
    """The arguments of `steelyard weigh` for a weighing by its name."""
    return [*weighings[name], "--seed", str(SEED)]


def weigh(name: str, words: Sequence[str], records: Path) -> list[dict[str, Any]]:
    """Run one weighing and return the result of each of its contrasts."""
    record = records / name / "record"  # alone: not an attempt at another
    shutil.rmtree(record, ignore_errors=True)  # what has no line is weighed anew
    load = os.getloadavg()[0]
    started = datetime.now(UTC).isoformat(timespec="seconds")
    verdict = run_weigh(name, words, record)
    environment = environment_of(record)
    contrasts = [*verdict["contrasts"], *verdict.get("pairs", ())]
    weighing = {
        "words": list(words),
        "started": started,
        "load_before": round(load, 2),
        "loads_of_epochs": loads_of_epochs(record),
        **{key: verdict.get(key) for key in _OF_A_VERDICT},
        "workload": {key: environment["workload"][key] for key in _OF_THE_WORKLOAD},
        "revision": revision(),
        "machine": machine_of(environment),
    }
    return [
        {
            "key": key_of(name, contrast, alone=len(contrasts) == 1),
            "weighing": name,
            **weighing,
            **_of_contrast(contrast, verdict, environment),
        }
        for contrast in contrasts
    ]


def key_of(name: str, contrast: Mapping[str, Any], *, alone: bool) -> str:
    """The key of a contrast: the weighing's name, and where it has several the two arms."""
    return name if alone else f"{name}-{contrast['control']}-{contrast['arm']}"


def _of_contrast(
    contrast: Mapping[str, Any], verdict: Mapping[str, Any], environment: Mapping[str, Any]
) -> dict[str, Any]:
    """The result of one contrast, with the counters of its arms where the verdict compares them."""
    pair = (contrast["control"], contrast["arm"])
    return {
        **{key: contrast[key] for key in _OF_A_CONTRAST},
        "epoch_sd_percent": contrast["details"]["epoch_sd_percent"],
        "d": contrast["details"]["d"],
        "threats": [threat["name"] for threat in contrast["threats"]],
        **{
            part: [
                {key: row.get(key) for key in _OF_A_MEASURE}
                for row in verdict[part]
                if (row["control"], row["arm"]) == pair
            ]
            for part in ("work", "causes")
        },
        "loads": {
            **verdict["loads"],
            "arms": {arm: verdict["loads"]["arms"][arm] for arm in pair},
        },
        "arms": {
            arm: {key: environment["arms"][arm]["build"][key] for key in _OF_AN_ARM} for arm in pair
        },
    }


def loads_of_epochs(record: Path) -> list[dict[str, int]]:
    """Arm → the number of its load, from 0, of every complete epoch; empty where data is shared."""
    lines = Record(record).lines("telemetry.jsonl")
    epochs = [x for x in lines if x["type"] == "epoch" and x["outcome"] == "complete"]
    return [x["loads"] for x in epochs if x.get("loads")]


def main() -> int:
    """Weigh what has no result yet, and write the page; 1 where a weighing failed."""
    pairs = comparisons()
    parser = argparse.ArgumentParser(description="a version against another on each workload")
    parser.add_argument("--pair", choices=list(pairs), default="18-against-16")
    parser.add_argument("--records", type=Path, default=Path("records/versions"))
    parser.add_argument("--only", default=None)
    options = parser.parse_args()
    chosen = pairs[options.pair]
    if options.only not in (None, *chosen.weighings):
        parser.error(f"argument --only: one of {', '.join(chosen.weighings)}")
    done = {row.get("weighing", row["key"]): row["words"] for row in chosen.results}
    failed = []
    for name in chosen.weighings:
        arguments = command(name, chosen.weighings)
        if done.get(name) == arguments or options.only not in (None, name):
            continue
        try:
            rows = weigh(name, arguments, options.records / options.pair)
        except SystemExit as reason:  # the others do not need it
            failed.append(name)
            print(f"{name}: {reason}", file=sys.stderr, flush=True)
            continue
        for row in rows:
            chosen.results.replace(row["key"], row)
            print(f"{row['key']}: {row['sentence']}; {row['seconds']:.0f} s", flush=True)
        folded.write(files(chosen))
    if not failed:
        folded.write(files(chosen))
    return 1 if failed else 0


def files(compared: Comparison) -> dict[Path, str]:
    """The page and its tables, as the results have them."""
    text = page(list(compared.results), compared.pair)
    return folded.files_of(compared.page, text, FORM)


if __name__ == "__main__":
    sys.exit(main())
