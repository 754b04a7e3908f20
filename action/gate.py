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
EQUAL_ARM = "arm.name=the-same-again"
"""Arms that are equal without a name of their own are taken for a slip, and refused."""
PER_PAGE = 100
MOST_LETTERS = 65_000
"""Of a comment, which GitHub refuses from 65,537 on."""
SIGN = {"closed": "✗", "passed": "✓", "open": "?"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 open or passed, 1 closed, else what `steelyard` ended with."""
    options = _parser().parse_args(arguments)
    try:
        require_closable(options)
        status: int = options.step(options)
    except (OSError, ValueError, KeyError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return WRONG
    return status


def name(options: argparse.Namespace) -> int:
    """Tell the job what its artefact is called, and which ones the other hosts leave."""
    stem = f"steelyard-{slug(options.name)}"
    # A slug has no two dashes in a row: no other gate's artefact begins with these letters.
    outputs = {"artefact": f"{stem}--{slug(options.host)}", "pattern": f"{stem}--*"}
    append_for_job("GITHUB_OUTPUT", "".join(f"{key}={value}\n" for key, value in outputs.items()))
    print(outputs["artefact"])
    return PASSED


def weigh(options: argparse.Namespace) -> int:
    """Weigh, and write gate.json and gate.md beside the record."""
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    forget(out)
    runner = trusted(options)
    summary = out / "verdict.md"
    for_ci = ["--summary", str(summary), "--junit", str(out / "junit.xml")]
    for_ci += [word for condition in lines(options.fail_if) for word in ("--fail-if", condition)]
    done = weighed(options, options.budget, out / "record", lines(options.set), for_ci)
    if done.returncode not in (PASSED, CLOSED):
        return done.returncode
    verdict = json.loads(done.stdout)
    gate = {
        "name": options.name or options.study,
        "outcome": outcome(verdict, closed=done.returncode == CLOSED),
        "settled_in_minutes": minutes_more(verdict),
        "runner": runner,
        "summary": summary.read_text(encoding="utf-8"),
    }
    keep(out, gate, page(gate))
    return CLOSED if gate["outcome"] == "closed" and options.hosts == 1 else PASSED


def agree(options: argparse.Namespace) -> int:
    """Join what every host found: closed only where as many as were asked for are, passed only
    where as many found nothing to close it for."""
    left = [folder for folder in options.found if (folder / "gate.json").is_file()]
    without = [folder.name for folder in options.found if folder not in left]
    gates = [json.loads((folder / "gate.json").read_text(encoding="utf-8")) for folder in left]
    forget(options.out)
    if not gates:
        raise ValueError("no host has left a verdict")
    closed = sum(gate["outcome"] == "closed" for gate in gates)
    passed = sum(gate["outcome"] == "passed" for gate in gates)
    joined: dict[str, Any] = {
        "name": gates[0]["name"],
        "outcome": "closed" if closed >= options.hosts else "open",
        "hosts": len(gates),
        "without_a_verdict": without,
    }
    if passed == len(gates) >= options.hosts:
        joined["outcome"] = "passed"
    sentence = f"{closed} of {len(gates)} hosts would close the gate; {options.hosts} must agree."
    if len(gates) < options.hosts:
        sentence += f" Only {len(gates)} of {options.hosts} came to a verdict, so it stays open."
    if without:
        sentence += f" Without a verdict: {', '.join(without)}."
    parts = [f"### {SIGN[joined['outcome']]} {joined['name']}: {joined['outcome']}", sentence]
    parts += [page(gate) for gate in gates]
    keep(options.out, joined, "\n\n".join(parts) + "\n")
    return CLOSED if joined["outcome"] == "closed" else PASSED


def comment(options: argparse.Namespace) -> int:
    """Write the page into the pull request's one comment of this name."""
    number = pull_request()
    if number is None:
        print("no pull request, so nothing to comment on")
        return PASSED
    mark = f"<!-- steelyard: {options.name} -->"
    body = fitted(f"{mark}\n{options.page.read_text(encoding='utf-8')}")
    base = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        comment_id = comment_with(mark, options.author, f"{base}/{number}/comments")
        if comment_id is None:
            request("POST", f"{base}/{number}/comments", {"body": body})
        else:
            request("PATCH", f"{base}/comments/{comment_id}", {"body": body})
    except urllib.error.HTTPError as failure:
        if failure.code not in (403, 404):
            raise
        # A fork's pull request has a token that may only read; the job's summary has it all.
        print(f"not commented: this token may not write ({failure.code})", file=sys.stderr)
    return PASSED


def fitted(text: str) -> str:
    """A comment, or its beginning where it is too long for one: whole lines, and that it is."""
    if len(text) <= MOST_LETTERS:
        return text
    whole = text[: MOST_LETTERS - 200].rpartition("\n")[0]
    fence = ""
    for line in whole.splitlines():
        run = line[: len(line) - len(line.lstrip("`"))]
        if len(run) >= max(3, len(fence)):
            fence = "" if fence else run
    return f"{whole}\n{fence}\n\nThe rest is in the job's summary: a comment is no longer.\n"


def trusted(options: argparse.Namespace) -> dict[str, Any]:
    """What equal arms read on this kind of runner, weighed once for each load, kept in --known."""
    kind, study = runner_kind(), Path(options.study)
    keys = [*keys_of_equal_arms(lines(options.set)), EQUAL_ARM]
    load = json.dumps(keys).encode() + (study.read_bytes() if study.is_file() else b"")
    digest = hashlib.sha256(load).hexdigest()[:12]
    file: Path = options.known / f"{slug(options.study)}-{digest}.json"
    if file.is_file():
        stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if stored.get("kind") == kind:
            return stored
    equal = argparse.Namespace(**{**vars(options), "arm": options.control})
    record = options.out / "equal-arms"
    done = weighed(equal, options.equal_budget, record, keys, [])
    if done.returncode != PASSED:
        return {"kind": kind, "failed": done.returncode}
    [contrast] = json.loads(done.stdout)["contrasts"]
    runner = {
        "kind": kind,
        "low_percent": contrast["low_percent"],
        "high_percent": contrast["high_percent"],
        "told_apart": contrast["nonzero"],
        "smallest_visible_percent": contrast["details"]["smallest_visible_percent"],
        "budget": options.equal_budget,
    }
    options.known.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(runner), encoding="utf-8")
    return runner


def weighed(
    options: argparse.Namespace,
    budget: str,
    record: Path,
    keys: Sequence[str],
    more: Sequence[str],
) -> subprocess.CompletedProcess[str]:
    """A weighing that has ended; its verdict is on standard output."""
    command = [
        *(*shlex.split(options.program), "weigh", options.study, *arms_of(options)),
        *("--budget", budget, "--record", str(record), "--json"),
        *(word for key in keys for word in ("--set", key)),
        *more,
    ]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)


def outcome(verdict: dict[str, Any], *, closed: bool) -> str:
    """`"closed"`; `"open"` where an arm was not told, or is invalid; else `"passed"`."""
    if closed:
        return "closed"
    unsure = {"inconclusive", "invalid"}
    is_open = any(contrast["verdict"] in unsure for contrast in verdict["contrasts"])
    return "open" if is_open else "passed"


def minutes_more(verdict: dict[str, Any]) -> int | None:
    """How much longer it would have to be under load to be told; None: no time would be enough."""
    waits = [contrast["forecast_seconds"] for contrast in verdict["contrasts"]
             if contrast["verdict"] == "inconclusive"]  # fmt: skip
    if not waits or any(wait is None for wait in waits):
        return None
    return max(1, math.ceil(max(waits) / 60))


def page(gate: dict[str, Any]) -> str:
    """What is said of a weighing on one host: Markdown."""
    parts = [gate["summary"].rstrip()]
    if gate["outcome"] == "open":
        more = gate["settled_in_minutes"]
        settled = (
            "more time would hardly settle it"
            if more is None
            else f"about {more} more minute{'s' if more > 1 else ''} would settle it"
        )
        parts.append(f"Not told, so the gate stays open: {settled}.")
    parts.append(runner_words(gate["runner"]))
    return "\n\n".join(parts) + "\n"


def runner_words(runner: dict[str, Any]) -> str:
    """What this runner can see."""
    if "failed" in runner:
        return f"Equal arms could not be weighed on this runner (status {runner['failed']})."
    visible = runner["smallest_visible_percent"]
    ends = [
        "unbounded" if runner[f"{end}_percent"] is None else f"{runner[f'{end}_percent']:+.1f} %"
        for end in ("low", "high")
    ]
    text = f"This runner ({runner['kind']}) read equal arms as {ends[0]} to {ends[1]}"
    if runner["told_apart"]:
        return f"{text}: **it told them apart**, so doubt what else it says (one in twenty does)."
    if visible is None:
        return f"{text}."
    return f"{text}; it sees ±{visible:.1f} % four times in five, in {runner['budget']} under load."


def arms_of(options: argparse.Namespace) -> list[str]:
    """Two builds by their directories, two versions by their names."""
    if options.study == "versions":
        versions = f"control.version={options.control}", f"arm.version={options.arm}"
        return ["--set", versions[0], "--set", versions[1]]
    return ["--control", options.control, "--arm", options.arm]


def slug(text: str) -> str:
    """Of a name or a path, letters that every file system and artefact takes, no two dashes in a
    row; what another name could come to has a digest behind it."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")
    if plain == text:
        return plain
    return f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:6]}".lstrip("-")


def lines(text: str) -> list[str]:
    """The lines of an input that hold something."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def require_closable(options: argparse.Namespace) -> None:
    """ValueError: it would pass whatever is read, as where a variable of the workflow is not set,
    or close on nothing."""
    if not lines(getattr(options, "fail_if", "-")):
        raise ValueError('fail-if is empty, so nothing would close the gate; write "slower:2%"')
    if getattr(options, "hosts", 1) < 1:
        raise ValueError(f"hosts is {options.hosts}: how many must agree, 1 or more")


def keys_of_equal_arms(keys: Sequence[str]) -> list[str]:
    """The keys of a study whose arm is its control: what the arm alone has is left out."""
    both = [key.replace("control.", "arm.", 1) for key in keys if key.startswith("control.")]
    return [key for key in keys if not key.startswith("arm.")] + both


def forget(out: Path) -> None:
    """Remove what an earlier run said: it would be taken for this one's where this one fails."""
    for file in ("gate.json", "gate.md"):
        (out / file).unlink(missing_ok=True)


def keep(out: Path, gate: dict[str, Any], text: str) -> None:
    """Write gate.json and gate.md, and tell the job."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "gate.json").write_text(json.dumps(gate), encoding="utf-8")
    (out / "gate.md").write_text(text, encoding="utf-8")
    append_for_job("GITHUB_STEP_SUMMARY", text)
    append_for_job("GITHUB_OUTPUT", f"outcome={gate['outcome']}\n")
    print(text)


def append_for_job(variable: str, text: str) -> None:
    """Append to one of the job's files; outside a job nothing."""
    if os.environ.get(variable):
        with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
            file.write(text)


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
        for candidate in comments:
            by_author = (candidate.get("user") or {}).get("login") == author
            if by_author and str(candidate["body"]).startswith(mark):
                return int(candidate["id"])
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
    http_request = urllib.request.Request(address, data=data, headers=headers, method=method)
    with urllib.request.urlopen(http_request, timeout=60) as answer:
        return json.loads(answer.read() or "null")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    steps = parser.add_subparsers(required=True)
    naming = steps.add_parser("name", help="what the artefact of this host is called")
    naming.add_argument("--name", default="builds")
    naming.add_argument("--host", default="1")
    naming.set_defaults(step=name)
    weighing = steps.add_parser("weigh", help="weigh the two, and what the runner can see")
    weighing.add_argument("--study", default="builds")
    weighing.add_argument("--control", required=True)
    weighing.add_argument("--arm", required=True)
    weighing.add_argument("--budget", default="10m")
    weighing.add_argument("--equal-budget", default=EQUAL_ARMS_BUDGET)
    weighing.add_argument("--fail-if", default="slower:2%", help="a condition a line")
    weighing.add_argument("--set", default="", help="KEY=VALUE, one a line")
    weighing.add_argument("--name", default="")
    weighing.add_argument("--hosts", type=int, default=1, help="from 2 on `agree` closes the gate")
    weighing.add_argument("--known", type=Path, default=Path(".steelyard-runner"))
    weighing.add_argument("--out", type=Path, default=Path("weighing"))
    weighing.add_argument("--program", default="steelyard")
    weighing.set_defaults(step=weigh)
    joining = steps.add_parser("agree", help="join what several hosts found")
    joining.add_argument("found", type=Path, nargs="*")
    joining.add_argument("--hosts", type=int, default=2)
    joining.add_argument("--out", type=Path, default=Path("agreed"))
    joining.set_defaults(step=agree)
    commenting = steps.add_parser(
        "comment", help="write a page into the pull request's one comment"
    )
    commenting.add_argument("page", type=Path)
    commenting.add_argument("--name", default="builds")
    commenting.add_argument(
        "--author", default="github-actions[bot]", help="login behind the token"
    )
    commenting.set_defaults(step=comment)
    return parser


if __name__ == "__main__":
    sys.exit(main())
