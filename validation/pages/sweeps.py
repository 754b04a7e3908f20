"""What a sweep and a factorial have shown, whole: docs/results/sweeps-and-factors.md."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.reproductions.reproduction import machine_words
from validation.pages.table import effect, paragraph, table

Json = Mapping[str, Any]
_HEAD = """
    One answer is of one point: so many clients, the other settings as they are. A sweep asks where
    an answer ends, a factorial whether treatments act alone
    ([studies](../reference/studies.md#sweeps)). This page is written by
    `python -m validation.sweeps` from `validation/results/sweeps.jsonl`: nothing on it was typed.
"""
_PICTURES = {
    "checksums by clients": (
        "../pictures/checksums-by-clients.png",
        "The effect of checksums off against on at 8, 32 and 256 clients, with joint intervals",
    ),
    "factorial": (
        "../pictures/factorial.png",
        "Main effects and interactions on one scale, with joint intervals and the margin",
    ),
}
"""Weighing → the picture of its report, and what it shows."""
_SWEEP = """
    Intervals of one arm hold together.
"""
_EFFECTS = """
    A main effect is the second level against the first, averaged over all other cells; an
    interaction is the ratio of a factor's effect at both levels of the other. Intervals hold
    together.
"""
_SIMPLE = """
    The same by level: what a factor does with the other as it is. Intervals hold together.
"""


def page(results: Sequence[Json], expected: Sequence[str]) -> str:
    """The whole page; `results` as results/sweeps.jsonl has them, `expected`: all there will be."""
    parts = ["# Where an answer ends: a sweep and a factorial", paragraph(_HEAD).strip()]
    keys = {result["key"] for result in results}
    missing = [name for name in expected if name not in keys]
    parts += [f"Not yet weighed: {'; '.join(missing)}."] if missing else []
    for result in results:
        command = f"steelyard weigh {shlex.join(result['words'])}"
        parts += [f"## {result['key'].capitalize()}", f"```\n{command}\n```"]
        if result["key"] in _PICTURES:
            file, shows = _PICTURES[result["key"]]
            parts.append(f"![{shows}]({file})")
        parts += _swept(result) if "sweep" in result else _factors(result)
        parts.append(f"Measured on {machine_words(result['machine'])}.")
    return "\n\n".join(parts) + "\n"


def _swept(line: Json) -> list[str]:
    sweep = line["sweep"]
    head = [sweep["key"], "arm against control", "effect", "interval", "verdict", "epochs", "cause",
            "doubts"]  # fmt: skip
    rows = [
        [point["value"], *_point(contrast)]
        for point in sweep["points"]
        for contrast in point.get("contrasts", ())
    ]
    failed = [f"{p['value']}: {p['failed']}." for p in sweep["points"] if "failed" in p]
    sentence = f"{paragraph(_SWEEP).strip()} {sweep['seconds'] / 60:.0f} minutes."
    return [*_sentences(sweep), table(head, rows), *failed, sentence]


def _point(line: Json) -> list[str]:
    return [
        f"{line['arm']} against {line['control']}",
        *effect(line),
        line["verdict"],
        str(line["epochs"]),
        line["cause"] or "none",
        ", ".join(line["threats"]) or "none",
    ]


def _factors(line: Json) -> list[str]:
    factors, threats = line["factors"], ", ".join(line["threats"]) or "none"
    effects = [
        [" × ".join(e["factors"]), *effect(e), f"{e['p_value']:.3g}", e["verdict"]]
        for e in factors["effects"]
    ]
    simple = [
        [e["factor"], f"{e['by']}: {e['level']}", *effect(e)] for e in factors["simple_effects"]
    ]
    left = len(factors["left_out"])
    sentence = (
        f"{len(factors['cells'])} cells in {factors['epochs']} epochs"
        f"{f', and {left} in which one was not measured' if left else ''};"
        f" {line['whole_seconds'] / 60:.0f} minutes. Doubts: {threats}."
    )
    return [
        *_sentences(factors),
        paragraph(_EFFECTS).strip(),
        table(["effect", "estimate", "interval", "p, adjusted", "verdict"], effects),
        paragraph(_SIMPLE).strip(),
        table(["factor", "with", "effect", "interval"], simple),
        sentence,
    ]


def _sentences(document: Json) -> list[str]:
    return [f"> {sentence}." for sentence in document["sentences"]]
