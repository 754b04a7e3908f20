#!/usr/bin/env python3
"""The steps of Steelyard's GitHub action: weigh, agree over hosts, and say it in one comment.

    gate.py name --name bench/x.toml --host 1
    gate.py weigh --study builds --control base/bin --arm head/bin --out weighing [...]
    gate.py agree weighing-1 weighing-2 --hosts 2 --out agreed
    gate.py comment agreed/gate.md --name builds

It needs Python 3.11, nothing besides, and `steelyard` on the path. Everything that it asks and says
is in docs/reference/ci.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import platform
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PASSED, CLOSED, WRONG = 0, 1, 2
EQUAL_ARMS_BUDGET = "2m"
PER_PAGE = 100
SIGN = {"closed": "✗", "passed": "✓", "open": "?"}


def main(words: Sequence[str] | None = None) -> int:
    """The exit status: 0 open or passed, 1 closed, else what `steelyard` ended with."""
    asked = _parser().parse_args(words)
    try:
        status: int = asked.step(asked)
    except (OSError, ValueError, KeyError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return WRONG
    return status


def name(asked: argparse.Namespace) -> int:
    """Tell the job what its artefact is called, and which ones the other hosts leave."""
    stem = f"steelyard-{slug(asked.name)}"
    # A slug has no two dashes in a row: no other gate's artefact begins with these letters.
    told = {"artefact": f"{stem}--{slug(asked.host)}", "pattern": f"{stem}--*"}
    tell("GITHUB_OUTPUT", "".join(f"{key}={value}\n" for key, value in told.items()))
    print(told["artefact"])
    return PASSED


def weigh(asked: argparse.Namespace) -> int:
    """Weigh, and write gate.json and gate.md beside the record."""
    out: Path = asked.out
    out.mkdir(parents=True, exist_ok=True)
    forget(out)
    runner = trusted(asked)
    said = out / "verdict.md"
    for_ci = ["--summary", str(said), "--junit", str(out / "junit.xml")]
    for_ci += [word for one in lines(asked.fail_if) for word in ("--fail-if", one)]
    done = weighed(asked, asked.budget, out / "record", lines(asked.set), for_ci)
    if done.returncode not in (PASSED, CLOSED):
        return done.returncode
    verdict = json.loads(done.stdout)
    found = {
        "name": asked.name or asked.study,
        "outcome": outcome(verdict, closed=done.returncode == CLOSED),
        "settled_in_minutes": minutes_more(verdict),
        "runner": runner,
        "summary": said.read_text(encoding="utf-8"),
    }
    keep(out, found, page(found))
    return CLOSED if found["outcome"] == "closed" and asked.hosts == 1 else PASSED


def agree(asked: argparse.Namespace) -> int:
    """Join what every host found: closed only where as many as were asked for are, passed only
    where as many found nothing to close it for."""
    left = [one for one in asked.found if (one / "gate.json").is_file()]
    without = [one.name for one in asked.found if one not in left]
    found = [json.loads((one / "gate.json").read_text(encoding="utf-8")) for one in left]
    forget(asked.out)
    if not found:
        raise ValueError("no host has left a verdict")
    closed = sum(one["outcome"] == "closed" for one in found)
    passed = sum(one["outcome"] == "passed" for one in found)
    joined: dict[str, Any] = {
        "name": found[0]["name"],
        "outcome": "closed" if closed >= asked.hosts else "open",
        "hosts": len(found),
        "without_a_verdict": without,
    }
    if passed == len(found) >= asked.hosts:
        joined["outcome"] = "passed"
    told = f"{closed} of {len(found)} hosts would close the gate; {asked.hosts} must agree."
    if len(found) < asked.hosts:
        told += f" Only {len(found)} of {asked.hosts} came to a verdict, so it stays open."
    if without:
        told += f" Without a verdict: {', '.join(without)}."
    parts = [f"### {SIGN[joined['outcome']]} {joined['name']}: {joined['outcome']}", told]
    parts += [page(one) for one in found]
    keep(asked.out, joined, "\n\n".join(parts) + "\n")
    return CLOSED if joined["outcome"] == "closed" else PASSED


def comment(asked: argparse.Namespace) -> int:
    """Write the page into the pull request's one comment of this name."""
    number = pull_request()
    if number is None:
        print("no pull request, so nothing to comment on")
        return PASSED
    mark = f"<!-- steelyard: {asked.name} -->"
    body = f"{mark}\n{asked.page.read_text(encoding='utf-8')}"
    base = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        known = comment_with(mark, asked.author, f"{base}/{number}/comments")
        if known is None:
            request("POST", f"{base}/{number}/comments", {"body": body})
        else:
            request("PATCH", f"{base}/comments/{known}", {"body": body})
    except urllib.error.HTTPError as failure:
        if failure.code not in (403, 404):
            raise
        # A fork's pull request has a token that may only read; the job's summary has it all.
        print(f"not commented: this token may not write ({failure.code})", file=sys.stderr)
    return PASSED


def trusted(asked: argparse.Namespace) -> dict[str, Any]:
    """What equal arms read on this kind of runner, weighed once and kept in --known."""
    kind = runner_kind()
    file: Path = asked.known / f"{slug(asked.study)}.json"
    if file.is_file():
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if kept.get("kind") == kind:
            return kept
    equal = argparse.Namespace(**{**vars(asked), "arm": asked.control})
    kept_in = asked.out / "equal-arms"
    done = weighed(equal, asked.equal_budget, kept_in, alike(lines(asked.set)), [])
    if done.returncode != PASSED:
        return {"kind": kind, "failed": done.returncode}
    [contrast] = json.loads(done.stdout)["contrasts"]
    found = {
        "kind": kind,
        "low_percent": contrast["low_percent"],
        "high_percent": contrast["high_percent"],
        "told_apart": contrast["nonzero"],
        "smallest_visible_percent": contrast["details"]["smallest_visible_percent"],
        "budget": asked.equal_budget,
    }
    asked.known.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found), encoding="utf-8")
    return found


def weighed(
    asked: argparse.Namespace,
    budget: str,
    record: Path,
    keys: Sequence[str],
    more: Sequence[str],
) -> subprocess.CompletedProcess[str]:
    """A weighing that has ended; its verdict is on standard output."""
    command = [
        *(*shlex.split(asked.program), "weigh", asked.study, *arms_of(asked)),
        *("--budget", budget, "--record", str(record), "--json"),
        *(word for one in keys for word in ("--set", one)),
        *more,
    ]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)


def outcome(verdict: dict[str, Any], *, closed: bool) -> str:
    """`"closed"`; `"open"` where an arm was not told, or is invalid; else `"passed"`."""
    if closed:
        return "closed"
    unsure = {"inconclusive", "invalid"}
    return "open" if any(one["verdict"] in unsure for one in verdict["contrasts"]) else "passed"


def minutes_more(verdict: dict[str, Any]) -> int | None:
    """How much longer it would have to be under load to be told; None: no time would be enough."""
    waits = [one["forecast_seconds"] for one in verdict["contrasts"]
             if one["verdict"] == "inconclusive"]  # fmt: skip
    if not waits or any(one is None for one in waits):
        return None
    return max(1, math.ceil(max(waits) / 60))


def page(found: dict[str, Any]) -> str:
    """What is said of a weighing on one host: Markdown."""
    parts = [found["summary"].rstrip()]
    if found["outcome"] == "open":
        more = found["settled_in_minutes"]
        settled = (
            "more time would hardly settle it"
            if more is None
            else f"about {more} more minute{'s' if more > 1 else ''} would settle it"
        )
        parts.append(f"Not told, so the gate stays open: {settled}.")
    parts.append(runner_words(found["runner"]))
    return "\n\n".join(parts) + "\n"


def runner_words(runner: dict[str, Any]) -> str:
    """What this runner can see."""
    if "failed" in runner:
        return f"Equal arms could not be weighed on this runner (status {runner['failed']})."
    seen = runner["smallest_visible_percent"]
    ends = [
        "unbounded" if runner[f"{end}_percent"] is None else f"{runner[f'{end}_percent']:+.1f} %"
        for end in ("low", "high")
    ]
    told = f"This runner ({runner['kind']}) read equal arms as {ends[0]} to {ends[1]}"
    if runner["told_apart"]:
        return f"{told}: **it told them apart**, so doubt what else it says (one in twenty does)."
    if seen is None:
        return f"{told}."
    return f"{told}; it sees ±{seen:.1f} % four times in five, in {runner['budget']} under load."


def arms_of(asked: argparse.Namespace) -> list[str]:
    """Two builds by their directories, two versions by their names."""
    if asked.study == "versions":
        return ["--set", f"control.version={asked.control}", "--set", f"arm.version={asked.arm}"]
    return ["--control", asked.control, "--arm", asked.arm]


def slug(words: str) -> str:
    """Of a name or a path, letters that every file system and artefact takes, no two dashes in a
    row; what another name could come to has a digest behind it."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", words).strip("-.")
    if plain == words:
        return plain
    return f"{plain}-{hashlib.sha256(words.encode()).hexdigest()[:6]}".lstrip("-")


def lines(text: str) -> list[str]:
    """The lines of an input that hold something."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def alike(keys: Sequence[str]) -> list[str]:
    """The keys of a study whose arm is its control: what the arm alone has is left out."""
    both = [one.replace("control.", "arm.", 1) for one in keys if one.startswith("control.")]
    return [one for one in keys if not one.startswith("arm.")] + both


def forget(out: Path) -> None:
    """Remove what an earlier run said: it would be taken for this one's where this one fails."""
    for one in ("gate.json", "gate.md"):
        (out / one).unlink(missing_ok=True)


def keep(out: Path, found: dict[str, Any], text: str) -> None:
    """Write gate.json and gate.md, and tell the job."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "gate.json").write_text(json.dumps(found), encoding="utf-8")
    (out / "gate.md").write_text(text, encoding="utf-8")
    tell("GITHUB_STEP_SUMMARY", text)
    tell("GITHUB_OUTPUT", f"outcome={found['outcome']}\n")
    print(text)


def tell(variable: str, words: str) -> None:
    """Append to one of the job's files; outside a job nothing."""
    if os.environ.get(variable):
        with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
            file.write(words)


def runner_kind() -> str:
    """The processor, how many of it, and the system: what makes one runner like another."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{len(os.sched_getaffinity(0))} × {model}"


def pull_request() -> int | None:
    """The number of the pull request that the job is of."""
    path = os.environ.get("GITHUB_EVENT_PATH")
    if not path:
        return None
    event = json.loads(Path(path).read_text(encoding="utf-8"))
    number = event.get("pull_request", {}).get("number")
    return None if number is None else int(number)


def comment_with(mark: str, author: str, address: str) -> int | None:
    """The author's comment that begins with a mark, of all pages of comments: anyone else could
    have written the mark, and could change the comment afterwards."""
    number = 1
    while True:
        comments = request("GET", f"{address}?per_page={PER_PAGE}&page={number}")
        for one in comments:
            own = (one.get("user") or {}).get("login") == author
            if own and str(one["body"]).startswith(mark):
                return int(one["id"])
        if len(comments) < PER_PAGE:
            return None
        number += 1


def request(method: str, address: str, body: dict[str, Any] | None = None) -> Any:
    """Ask GitHub's API with the job's token."""
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(address, data=data, headers=headers, method=method)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.loads(answer.read() or "null")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    steps = parser.add_subparsers(required=True)
    named = steps.add_parser("name", help="what the artefact of this host is called")
    named.add_argument("--name", default="builds")
    named.add_argument("--host", default="1")
    named.set_defaults(step=name)
    one = steps.add_parser("weigh", help="weigh the two, and what the runner can see")
    one.add_argument("--study", default="builds")
    one.add_argument("--control", required=True)
    one.add_argument("--arm", required=True)
    one.add_argument("--budget", default="10m")
    one.add_argument("--equal-budget", default=EQUAL_ARMS_BUDGET)
    one.add_argument("--fail-if", default="slower:2%", help="a condition a line")
    one.add_argument("--set", default="", help="KEY=VALUE, one a line")
    one.add_argument("--name", default="")
    one.add_argument("--hosts", type=int, default=1, help="more than one: `agree` closes the gate")
    one.add_argument("--known", type=Path, default=Path(".steelyard-runner"))
    one.add_argument("--out", type=Path, default=Path("weighing"))
    one.add_argument("--program", default="steelyard")
    one.set_defaults(step=weigh)
    joined = steps.add_parser("agree", help="join what several hosts found")
    joined.add_argument("found", type=Path, nargs="*")
    joined.add_argument("--hosts", type=int, default=2)
    joined.add_argument("--out", type=Path, default=Path("agreed"))
    joined.set_defaults(step=agree)
    said = steps.add_parser("comment", help="write a page into the pull request's one comment")
    said.add_argument("page", type=Path)
    said.add_argument("--name", default="builds")
    said.add_argument("--author", default="github-actions[bot]", help="login behind the token")
    said.set_defaults(step=comment)
    return parser


if __name__ == "__main__":
    sys.exit(main())
