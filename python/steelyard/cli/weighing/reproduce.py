"""Runs `steelyard reproduce`: the weighings of a published study one by one, and its page.

Probes the device before weighings whose profiles are worked out from what it does.

Fetches the engines that weighings name and this machine does not have, before any of them.

Runs a command of Steelyard in a process of its own, and ends it in order with this one.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from steelyard.cli.command_line import say
from steelyard.cli.views.reproductions.page import Found, page
from steelyard.cli.weighing.campaign import Campaign, CampaignKind, final_verdict, show
from steelyard.engines.adapters import adapter
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import cache_root, open_cache
from steelyard.model.errors import EngineError, SteelyardError, StudyError, UsageError
from steelyard.model.files.own_directory import write_whole
from steelyard.record.record import PLAN, read_object
from steelyard.record.sweep import POINTS, SWEEP_FILE, SWEPT_FILE, Swept
from steelyard.record.verdict import Verdict
from steelyard.reproductions.reproduction import (
    Reproduction,
    ReproductionStep,
    claim_names,
    machine_words,
    names,
    read_reproduction,
)
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.study.sweep import values_of
from steelyard.tuning.probing import last_probe

INTERRUPTED = 130
"""The exit status of a command that was."""


def run(arguments: Sequence[str]) -> int:
    """The exit status of `steelyard ARGUMENTS`, whose standard output is dropped.

    KeyboardInterrupt: it was interrupted.
    """
    command = [sys.executable, "-m", "steelyard", *arguments]
    # In a group of its own: Ctrl-C reaches it once, from here.
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, process_group=0) as started:
        try:
            status = started.wait()
        except BaseException:
            started.send_signal(signal.SIGINT)
            started.wait()
            raise
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return status


FETCHED = "npm-"
"""Names of builds of PostgreSQL that `steelyard engines add` fetched begin so."""


def missing_engines(weighings: Iterable[Sequence[str]], account: str | None) -> list[str]:
    """Versions to fetch by `steelyard engines add`, each once; `weighings`: the arguments of each
    `steelyard weigh`."""
    builds = {
        (study.engine, arm.version): None
        for arguments in weighings
        for study in _studies(arguments)
        if not study.is_external
        for arm in study.every_arm
        if arm.bindir is None
    }
    lost = [version for engine, version in builds if not _is_installed(engine, version, account)]
    return list(dict.fromkeys(version.removeprefix(FETCHED) for version in lost))


def fetch_engines(missing: Sequence[str], account: str | None) -> None:
    """Add each as `steelyard engines add` does; EngineError: which of them are to be added first,
    as one could not be."""
    if missing:
        say(f"missing here, so fetched first by `steelyard engines add`: {', '.join(missing)}")
    more = [] if account is None else ["--as", account]
    for position, version in enumerate(missing):
        if run(["engines", "add", version, *more]) != 0:
            adding = ("steelyard", "engines", "add")
            left = "; ".join(shlex.join((*adding, waiting)) for waiting in missing[position:])
            raise EngineError(
                f'could not fetch engine "{version}": nothing was weighed',
                detail="The reason stands above; without a network no version can be fetched.",
                hint=f"Add what is missing, then repeat the command: {left}",
            )


def _studies(arguments: Sequence[str]) -> Iterator[Study]:
    """The study of a weighing; of a sweep, one a value."""
    study, *options = arguments
    pairs = _valued(options)
    changes = [value for option, value in pairs if option == "--set"]
    swept = [value.partition("=") for option, value in pairs if option == "--sweep"]
    if not swept:
        yield read_study(study, changes)
    for key, _, values in swept:
        for value in values_of(values):
            yield read_study(study, [*changes, f"{key}={value}"])


def _valued(options: Sequence[str]) -> list[tuple[str, str]]:
    """(option, value) of `--set KEY=VALUE` and of `--set=KEY=VALUE`."""
    joined = [option.partition("=")[::2] for option in options if option.startswith("--")]
    return [*pairwise(options), *((option, value) for option, value in joined if value)]


_NAMES_STAY = frozenset({"--set", "--sweep", "--budget", "--seed"})
"""Options that leave arms which a study names their names."""


def require_claims(reproduction: Reproduction) -> None:
    """StudyError where a claim is of an arm, or of a point of a sweep, that its step does not have:
    its page would say nothing of it. Arms that are named by what they are count as there."""
    for step in reproduction.steps:
        words = reproduction.words(step)
        options = {word.partition("=")[0] for word in words[1:] if word.startswith("-")}
        arms = [arm for study in _studies(words) for arm in study.every_arm]
        if options <= _NAMES_STAY and not any(arm.role for arm in arms):
            _require_known(step, "arm", {arm.name for arm in arms})
        swept = [value for option, value in _valued(words[1:]) if option == "--sweep"]
        points = {value for text in swept for value in values_of(text.partition("=")[2])}
        _require_known(step, "at", {*points, ""})


def _require_known(step: ReproductionStep, key: str, known: Collection[str]) -> None:
    for claim in step.claims:
        if (value := getattr(claim, key)) not in known:
            there = ", ".join(sorted(filter(None, known))) or "none"
            raise StudyError(
                f'step "{step.name}": claim with {key} = "{value}", which its weighing has not',
                hint=f"There is {there}.",
            )


def _is_installed(engine: str, version: str, account: str | None) -> bool:
    try:
        adapter(engine).find_arms([BuildRequest(version)], account, contrib=False)
    except EngineError:
        return False
    return True


def probe_first() -> None:
    """Probe the device beneath the cache where no probe of it is kept; where that cannot be, say
    so: a profile is then worked out without."""
    if last_probe(open_cache().root, cache_root()) is not None:
        return
    say("the device was not probed yet, so that is done first: steelyard probe")
    if run(["probe"]) != 0:
        say("not probed: profiles are worked out without what the device does")


REPRODUCE_FILE, PAGE = "reproduce.json", "page.md"
REPETITION = CampaignKind("a repetition", REPRODUCE_FILE, ("reproduce",))


@dataclass(frozen=True)
class ReproduceRequest:
    """What was asked for on the command line."""

    name: str
    only: str | None
    longer: bool
    full: bool
    changes: Sequence[str]
    seed: int
    record: Path | None
    account: str | None
    as_json: bool


def begin_reproduction(request: ReproduceRequest) -> None:
    """Weigh every step into a new folder, and write the page."""
    study = read_reproduction(request.name)
    if not study.steps:
        _say_why_not(study, as_json=request.as_json)
        return
    chosen = study.steps_to_weigh(request.only, longer=request.longer)
    if not chosen and request.only is None:
        raise UsageError(
            f"every step of {study.name} takes more than half an hour",
            hint=f"steelyard reproduce {study.name} --longer",
        )
    if not chosen:
        listed = ", ".join(step.name for step in study.steps)
        raise UsageError(f'{study.name} has no step "{request.only}"', detail=f"It has {listed}.")
    if not request.changes:  # they may give the arms other names
        require_claims(study)
    steps = {step.name: [*study.words(step, full=request.full), *_more(request)] for step in chosen}
    ours = request.name in (*names(), *claim_names())
    name = request.name if ours else str(Path(request.name).absolute())
    plan = {"format": 1, "name": name, "steps": steps, "account": request.account}
    # Before the folder is made: where an engine cannot be had, nothing is left behind.
    fetch_engines(missing_engines(steps.values(), request.account), request.account)
    if study.probe:
        probe_first()
    campaign = REPETITION.begin(request.record, f"reproduce/{study.name}", plan)
    _go_on(campaign, as_json=request.as_json)


def _say_why_not(study: Reproduction, *, as_json: bool) -> None:
    """The page of a claim of which nothing can be weighed here."""
    document = {"study": study.name, "cannot": study.cannot, "steps": {}}
    show(document, [page(study, {}, "")], as_json=as_json)


def resume_reproduction(folder: Path, account: str | None, *, as_json: bool) -> None:
    """Go on where it was interrupted, as another account if one is named; steps that are complete
    are read."""
    campaign = REPETITION.open(folder, account)
    plan = campaign.plan()
    _require_steps(plan["name"], plan["steps"])
    steps, account = plan["steps"].items(), account or plan["account"]
    left = [arguments for name, arguments in steps if _outcome(folder / name) is None]
    fetch_engines(missing_engines(left, account), account)
    _go_on(campaign, as_json=as_json)


def _require_steps(name: str, begun: Iterable[str]) -> None:
    """StudyError: the study has no step any more that its repetition was begun with."""
    steps = {step.name: step for step in read_reproduction(name).steps}
    lost = next((step for step in begun if step not in steps), None)
    if lost is not None:
        raise StudyError(
            f'{name} has no step "{lost}", with which this repetition was begun',
            detail=f"It has {', '.join(steps)}: it was changed since, or is another version's.",
            hint=f"Begin anew: {shlex.join(('steelyard', 'reproduce', name))}",
        )


def completed_outcomes(folder: Path, study: Reproduction) -> dict[str, Verdict | Swept]:
    """What the steps of a folder came to; those that are not complete are not in it."""
    outcomes: dict[str, Verdict | Swept] = {}
    for step in study.steps:
        outcome = _outcome(folder / step.name)
        if outcome is not None:
            outcomes[step.name] = outcome
    return outcomes


def machine_of(folder: Path) -> str:
    """The machine that the first step was weighed on, in words; empty where none was."""
    files = [*folder.glob("*/environment.json"), *folder.glob(f"*/{POINTS}/*/environment.json")]
    if not files:
        return ""
    return machine_words(read_object(min(files))["machine"])


def _go_on(campaign: Campaign, *, as_json: bool) -> None:
    plan, folder = campaign.plan(), campaign.folder
    study = read_reproduction(plan["name"])
    steps = {step.name: step for step in study.steps}
    with campaign.resumable():
        for number, (name, arguments) in enumerate(plan["steps"].items(), 1):
            say(f"step {number} of {len(plan['steps'])}: {steps[name].question}")
            _weigh(steps[name], arguments, campaign, campaign.account or plan["account"])
    outcomes: Found = completed_outcomes(folder, study)
    text = page(study, outcomes, machine_of(folder))
    write_whole(folder / PAGE, text)
    judged = {name: outcome.to_json() for name, outcome in outcomes.items()}
    document = {"study": study.name, "record": str(folder), "steps": judged}
    where = f"record  {folder}\npage    {folder / PAGE}"
    show(document, [text, where], as_json=as_json)


def _weigh(
    step: ReproductionStep, arguments: Sequence[str], campaign: Campaign, account: str | None
) -> None:
    """An ordinary weighing, of its own process, whatever of it was done before: a step may be a
    sweep, and has a report of its own."""
    directory = campaign.folder / step.name
    if _outcome(directory) is not None:
        return
    planned = (directory / PLAN).is_file() or (directory / SWEEP_FILE).is_file()
    more = ["--resume", str(directory)] if planned else [*arguments, "--record", str(directory)]
    more += [] if account is None else ["--as", account]
    status = run(["weigh", *more])
    if status != 0:
        raise SteelyardError(
            f'step "{step.name}" ended with status {status}',
            hint=f"Go on afterwards: {campaign.resuming_command}",
        )


def _outcome(directory: Path) -> Verdict | Swept | None:
    """What a step came to; None: it is not complete."""
    swept = directory / SWEPT_FILE
    if swept.is_file():
        return Swept.of_json(read_object(swept), str(swept))
    return final_verdict(directory)


def _more(request: ReproduceRequest) -> list[str]:
    changes = [word for change in request.changes for word in ("--set", change)]
    return [*changes, "--seed", str(request.seed)]
