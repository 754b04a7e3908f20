"""Draws the figures of the method: docs/method/figures/NAME.svg.

    .venv/bin/python .ci/figures.py

What a figure shows is computed where it can be: the set by the product's own sign changes, the
parts of a transaction from a kept result. Colours follow the reader's scheme, dark or light.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from steelyard.analysis.decision.sign_flip import confidence_set
from steelyard.model.units import percent_of_log
from steelyard.report.time_parts import PART_NAMES

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "method" / "figures"
CAUSES = ROOT / "validation" / "results" / "causes.jsonl"
WIDTH = 760
STYLE = """
svg { --paper: #ffffff; --ink: #1b1f24; --faint: #5a636e; --line: #9aa3ad; --band: #e9e6dc;
      --control: #2f7dc1; --arm: #c2510c; --rest: #d6dae0; --other: #8a887c; --good: #1f7a4d; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #15181c; --ink: #e8eaed; --faint: #a4adb8; --line: #667080; --band: #34352f;
        --control: #6cb0ea; --arm: #f2935a; --rest: #3a414b; --other: #b5b2a2; --good: #5cc492; }
}
.paper { fill: var(--paper); } text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.small { font-size: 11.5px; fill: var(--faint); } .name { font-weight: 600; }
.middle { text-anchor: middle; } .end { text-anchor: end; }
.control { fill: var(--control); } .arm { fill: var(--arm); } .rest { fill: var(--rest); }
.other { fill: var(--other); } .band { fill: var(--band); } .good { fill: var(--good); }
.line { stroke: var(--line); fill: none; } .axis { stroke: var(--ink); fill: none; }
.thin { stroke: var(--line); stroke-dasharray: 3 3; fill: none; }
.tick { stroke: var(--ink); stroke-width: 2; } .interval { stroke: var(--ink); stroke-width: 3; }
"""


def svg(height: int, title: str, description: str, marks: Sequence[str]) -> str:
    """A whole picture, with a background of its own so that it is legible on any page."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(description)}</desc>",
        f"<style>{STYLE}</style>",
        box(0, 0, WIDTH, height, "paper"),
        *marks,
        "</svg>\n",
    ])  # fmt: skip


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A filled rectangle."""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "line") -> str:
    """A straight line."""
    return f'<path class="{kind}" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>'


def text(x: float, y: float, label: str, kind: str = "") -> str:
    """Words at a place; `kind` has `middle`, `end`, `small`, `name`."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(label)}</text>'


def key(y: float, names: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Colours and what they mean, in a row."""
    x = 20.0
    for kind, meaning in names:
        yield box(x, y - 10, 12, 12, kind)
        yield text(x + 18, y, meaning, "small")
        x += 34 + 6.4 * len(meaning)


def nesting() -> str:
    """Request < slice < block < epoch: each level opened below the one before."""
    marks = [text(20, 30, "weighing", "name"), text(20, 47, "epochs", "small")]
    step = 58
    for number in range(10):
        x = 120 + number * step
        marks += [box(x, 18, 8, 30, "rest"), box(x + 9, 18, step - 13, 30, "band")]
        marks.append(text(x + 32, 38, str(number + 1), "middle small"))
    marks += [line(120 + 3 * step, 50, 120, 84), line(120 + 4 * step - 4, 50, 700, 84)]
    marks += [text(20, 104, "epoch", "name"), text(20, 121, "its blocks", "small")]
    marks += [box(120, 90, 90, 36, "rest"), text(165, 106, "restart,", "middle small"),
              text(165, 120, "drawn slots", "middle small")]  # fmt: skip
    marks += [box(212, 90, 70, 36, "other"), text(247, 143, "warm-up", "middle small")]
    for position, first in enumerate([0, 1, 1, 0, 1, 0, 0, 1]):
        x = 286 + position * 52
        kinds = ("control", "arm") if first == 0 else ("arm", "control")
        marks += [box(x, 90, 23, 36, kinds[0]), box(x + 24, 90, 23, 36, kinds[1])]
    marks += [line(286 + 2 * 52, 128, 120, 176), line(286 + 3 * 52 - 5, 128, 700, 176)]
    marks += [text(20, 200, "block", "name"), text(20, 217, "a slice of", "small"),
              text(20, 232, "each arm", "small")]  # fmt: skip
    marks += [box(120, 182, 288, 36, "arm"), box(412, 182, 288, 36, "control")]
    marks += [line(120, 220, 120, 262), line(408, 220, 700, 262)]
    marks += [text(20, 288, "slice", "name"), text(20, 305, "requests of", "small"),
              text(20, 320, "all clients", "small")]  # fmt: skip
    marks += _requests()
    marks.append(line(660, 262, 660, 352, "thin"))
    marks.append(text(654, 368, "end: nothing starts any more", "end small"))
    marks += key(392, [("control", "control"), ("arm", "arm"), ("rest", "servers restart"),
                       ("other", "warm-up")])  # fmt: skip
    marks.append(text(740, 392, "Only epochs are replicates.", "end name"))
    return svg(
        406,
        "Request, slice, block, epoch",
        "A weighing has epochs; an epoch restarts every arm and has blocks; a block has a slice of "
        "each arm in drawn order; a slice has the requests of all clients.",
        marks,
    )


def _requests() -> Iterator[str]:
    """Clients' requests; those that began before the end count with their whole time."""
    rng = np.random.default_rng(4)
    for client in range(4):
        x = 120.0
        while x < 660:
            length = float(rng.gamma(4, 9))
            yield box(x, 268 + client * 21, length - 2, 15, "arm")
            x += length


def _lane(y: float, name: str, description: str) -> tuple[str, str]:
    """The name of a layout and what it does."""
    return text(20, y, name, "name"), text(80, y, description, "small")


def layouts() -> str:
    """Slices, cycles and turns on a time line."""
    marks = list[str]()
    marks += _lane(24, "slices", "both servers run; the load alternates; a part of a second each")
    rng = np.random.default_rng(11)
    for block in range(30):
        x = 20 + block * 24
        order = ("control", "arm") if rng.random() < 0.5 else ("arm", "control")
        marks += [box(x, 34, 11, 26, order[0]), box(x + 12, 34, 11, 26, order[1])]
    marks += _lane(98, "cycles", "the same within checkpoint cycles; the other arm stands still")
    for block in range(30):
        x = 20 + block * 24
        first = rng.random() < 0.5
        marks += [box(x + 12 * (not first), 108, 11, 20, "control"),
                  box(x + 12 * first, 108, 11, 20, "rest")]  # fmt: skip
        marks += [box(x + 12 * first, 131, 11, 20, "arm"),
                  box(x + 12 * (not first), 131, 11, 20, "rest")]  # fmt: skip
    for x in (44, 284, 524):
        marks += [line(x, 103, x, 128, "tick"), line(x + 36, 131, x + 36, 156, "tick")]
    marks += _lane(
        190, "turns", "each arm alone over whole checkpoint cycles; the other is shut down"
    )
    for x, kind in ((20, "control"), (260, "arm"), (500, "control")):
        marks += [box(x, 200, 34, 26, "rest"), box(x + 35, 200, 30, 26, "other")]
        marks.append(box(x + 66, 200, 166, 26, kind))
        marks += [line(x + 66 + at, 195, x + 66 + at, 231, "tick") for at in (0, 83, 166)]
    marks += [line(20, 248, 740, 248, "axis"), text(740, 264, "time", "end small")]
    marks += key(276, [("control", "control under load"), ("arm", "arm under load"),
                       ("rest", "stands still, or starts"), ("other", "warm-up")])  # fmt: skip
    marks += [line(600, 264, 600, 280, "tick"), text(608, 276, "checkpoint begins", "small")]
    return svg(
        290,
        "Three layouts on a time line",
        "Slices alternate on running servers. Cycles alternate too, within checkpoint cycles, "
        "and hold the other arm still. Turns load one arm alone over whole cycles.",
        marks,
    )


EXAMPLE = (0.016, 0.027, 0.031, 0.012, 0.024, 0.038, 0.019, 0.029)
"""Log ratios of eight epochs, for the figure."""


def sign_changes() -> str:
    """The means of all subsets of eight epochs, and the ends of the set among them."""
    logs = np.array(EXAMPLE)
    means = sorted(
        float(np.mean(chosen))
        for size in range(1, len(EXAMPLE) + 1)
        for chosen in combinations(EXAMPLE, size)
    )
    chosen_set = confidence_set(logs, 0.04)
    low, high = chosen_set.interval.low, chosen_set.interval.high

    def at(value: float) -> float:
        return 60 + value / 0.045 * 640

    marks = [text(20, 26, "the log ratios d of 8 epochs, and their mean", "small")]
    marks += [f'<circle class="arm" cx="{at(d):g}" cy="52" r="6"/>' for d in EXAMPLE]
    mean = float(logs.mean())
    marks += [line(at(mean), 38, at(mean), 250, "thin")]
    marks.append(
        text(20, 88, "the means of all 255 subsets: what a change of signs leaves", "small")
    )
    edges = np.linspace(0.010, 0.040, 41)
    counts, _ = np.histogram(means, edges)
    for count, left, right in zip(counts, edges, edges[1:], strict=False):
        inside = low <= (left + right) / 2 <= high
        marks.append(box(at(left), 200 - 5 * count, at(right) - at(left) - 1, 5 * count,
                         "control" if inside else "rest"))  # fmt: skip
    marks += [line(60, 200, 720, 200, "axis")]
    for percent in (0, 1, 2, 3, 4):
        x = at(np.log1p(percent / 100))
        marks += [
            line(x, 200, x, 206, "axis"),
            text(x, 220, f"{percent:+d} %".replace("+0", "0"), "middle small"),
        ]
    marks += [line(at(low), 244, at(high), 244, "interval"),
              f'<circle class="arm" cx="{at(mean):g}" cy="244" r="6"/>']  # fmt: skip
    marks += [line(at(end), 236, at(end), 252, "tick") for end in (low, high)]
    label = (
        f"{percent_of_log(mean):+.1f} % [{percent_of_log(low):+.1f}, {percent_of_log(high):+.1f}]"
    )
    marks.append(text(at(high) + 14, 249, label, "name"))
    k, group = chosen_set.k, chosen_set.group
    ends = f"The set ends at the {k}th smallest and the {k}th largest mean: "
    beyond = f"of {group} changes of signs {2 * k} lie beyond ({200 * k / group:.1f} %)."
    marks.append(text(20, 276, ends + beyond, "small"))
    return svg(
        290,
        "The set from sign changes",
        "Eight log ratios as dots, the means of their 255 subsets as a histogram, and the interval "
        "from the fifth smallest to the fifth largest mean.",
        marks,
    )


def _signed(microseconds: float) -> str:
    return f"{microseconds:+.2f} µs".replace("-", "−")


def parts() -> str:
    """The mean time of a transaction in both arms, in parts that add up, and their differences."""
    lines = map(json.loads, CAUSES.read_text(encoding="utf-8").splitlines())
    [weighing] = [result for result in lines if result["key"] == "checksums"]
    kinds = dict(zip((p["part"] for p in weighing["parts"]), ("control", "rest", "good", "other"),
                     strict=False))  # fmt: skip
    marks = list[str]()
    scale = 540 / max(weighing["control_us"], weighing["arm_us"])
    for row, (name, side) in enumerate(
        ((weighing["control"], "control_us"), (weighing["arm"], "arm_us"))
    ):
        x, y = 130.0, 24 + row * 44
        marks.append(text(20, y + 20, f"checksums {name}", "name"))
        for part in weighing["parts"]:
            width = part[side] * scale
            marks.append(box(x, y, max(width - 1, 0.5), 30, kinds[part["part"]]))
            x += width
        marks.append(text(x + 8, y + 20, f"{weighing[side]:.1f} µs", "name"))
    marks += key(128, [(kinds[p["part"]], PART_NAMES.get(p["part"], p["part"]))
                       for p in weighing["parts"]])  # fmt: skip
    marks += [text(20, 162, "differences, with joint 95 % intervals", "small"),
              line(470, 172, 470, 172 + 30 * len(weighing["parts"]), "axis")]  # fmt: skip
    for row, part in enumerate(weighing["parts"]):
        y = 178 + row * 30
        marks.append(text(20, y + 14, PART_NAMES.get(part["part"], part["part"])))
        left, right = sorted((470.0, 470 + 80 * part["difference_us"]))
        marks.append(box(left, y, max(right - left, 1), 18, kinds[part["part"]]))
        marks.append(
            line(470 + 80 * part["low_us"], y + 9, 470 + 80 * part["high_us"], y + 9, "tick")
        )
        marks.append(text(740, y + 14, _signed(part["difference_us"]), "end"))
    bottom = 178 + 30 * len(weighing["parts"]) + 20
    total = weighing["arm_us"] - weighing["control_us"]
    marks += [line(20, bottom - 14, 740, bottom - 14),
              text(20, bottom + 4, "a transaction", "name"),
              text(740, bottom + 4, _signed(total), "end name")]  # fmt: skip
    return svg(
        bottom + 20,
        "The parts of a transaction's time",
        "The time of a transaction in two arms, split into parts that add up to it, and the "
        "difference of each part with its interval; the differences add up to the whole.",
        marks,
    )


DECISIONS = (
    ("faster", 1.6, 3.4), ("faster, size unknown", 0.4, 2.6), ("equivalent, nonzero", 0.2, 0.9),
    ("equivalent", -0.6, 0.7), ("inconclusive", -0.8, 1.9), ("slower", -3.3, -1.4),
)  # fmt: skip
"""Verdict → ends of a set, percent; the margin is 1 %."""


def decision() -> str:
    """Sets against the margin, and the verdict that each gives."""

    def at(percent: float) -> float:
        return 440 + 70 * percent

    height = 62 + 34 * len(DECISIONS)
    marks = [box(at(-1), 24, at(1) - at(-1), height - 62, "band"),
             line(at(0), 24, at(0), height - 38, "axis"),
             text(at(0), 18, "margin ±1 %", "middle small")]  # fmt: skip
    for row, (verdict, low, high) in enumerate(DECISIONS):
        y = 44 + row * 34
        marks += [text(20, y + 5, verdict, "name"), line(at(low), y, at(high), y, "interval")]
        marks += [line(at(end), y - 7, at(end), y + 7, "tick") for end in (low, high)]
        marks.append(f'<circle class="arm" cx="{at((low + high) / 2):g}" cy="{y}" r="6"/>')
    marks += [text(at(-4), height - 18, "◂ slower", "small"),
              text(at(4), height - 18, "faster ▸", "end small")]  # fmt: skip
    return svg(
        height,
        "The decision",
        "Six intervals against a margin of one percent and the verdict that each gives.",
        marks,
    )


FIGURES = {
    "nesting": nesting,
    "layouts": layouts,
    "sign-changes": sign_changes,
    "parts": parts,
    "decision": decision,
}


def main() -> None:
    """Write every figure."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
