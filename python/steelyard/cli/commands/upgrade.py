"""`steelyard upgrade`: rehearses an upgrade to another major version on a copy."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.cli.command_line import say
from steelyard.cli.options import weigh_parameters as weighing
from steelyard.cli.options.records_option import require_writable
from steelyard.model.errors import RecordError, UsageError

if TYPE_CHECKING:
    from steelyard.cli.views.upgrades.sections import Section
    from steelyard.cli.weighing.upgrade import OwnWork
    from steelyard.engines.postgres.upgrade.outcome import UpgradeOutcome
    from steelyard.engines.postgres.upgrade.rehearsal import UpgradeRequest
    from steelyard.record.verdict import Verdict

Source = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="DIR|BACKUP|DSN",
        help="A stopped data directory, a base backup, or a running server, which is copied.",
    ),
]
Version = Annotated[str, typer.Option("--to", metavar="VERSION", help="A later major version.")]
Ways = Annotated[
    list[str] | None,
    typer.Option(
        "--way",
        metavar="WAY",
        help="copy, clone, copy-file-range, link, swap; copy, clone and link without.",
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", min=0, help="Of pg_upgrade; 0: one a processor.")]
OldBindir = Annotated[
    Path | None, typer.Option("--old-bindir", metavar="DIR", help="Programs of the old version.")
]
NewBindir = Annotated[
    Path | None, typer.Option("--new-bindir", metavar="DIR", help="Programs of the new version.")
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The server's postgresql.conf, where it is."),
]
AsUser = Annotated[str | None, typer.Option("--as", metavar="USER", help="The servers' account.")]
Agreed = Annotated[bool, typer.Option("--yes", help="Copy a running server without asking.")]
PageFile = Annotated[
    Path | None,
    typer.Option("-o", "--page", metavar="FILE.md|FILE.html", help="Write it as a page, too."),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
USUAL_WAYS = ("copy", "clone", "link")
_SUFFIXES = (".md", ".html")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("upgrade")(upgrade)


def upgrade(
    source: Source,
    version: Version,
    way: Ways = None,
    file: weighing.Scripts = None,
    workload: weighing.Workload = None,
    budget: weighing.Budget = None,
    database: weighing.Database = None,
    overrides: weighing.Overrides = None,
    record: weighing.RecordPlace = None,
    jobs: Jobs = 0,
    old_bindir: OldBindir = None,
    new_bindir: NewBindir = None,
    config: Config = None,
    account: AsUser = None,
    agreed: Agreed = False,
    page: PageFile = None,
    as_json: AsJson = False,
) -> None:
    """Rehearse an upgrade by pg_upgrade on a copy: may we, what it costs, what to do.

    The original is read and never written. With scripts (-f) or a workload your own work is weighed
    on both versions, too. Exit status 1: not as it is.
    """
    from steelyard.cli.options.source_options import is_dsn
    from steelyard.cli.weighing.upgrade import OwnWork
    from steelyard.engines.postgres.upgrade.outcome import WAYS
    from steelyard.engines.postgres.upgrade.rehearsal import UpgradeRequest

    ways = tuple(dict.fromkeys(way or USUAL_WAYS))
    unknown = [each for each in ways if each not in WAYS]
    if unknown:
        raise UsageError(f'unknown way: "{unknown[0]}"', hint=f"Known: {', '.join(WAYS)}.")
    if page is not None and page.suffix not in _SUFFIXES:
        raise UsageError(f'cannot write a page as "{page}"', hint="Name a .md or .html file.")
    require_writable(page)
    work = OwnWork(
        workload, tuple(file or ()), budget, database, tuple(overrides or ()), record
    )  # fmt: skip
    work.require_sound()
    request = UpgradeRequest(
        place=Path(os.path.abspath(os.path.expanduser(source))),
        version=version,
        ways=ways,
        jobs=jobs,
        account=account,
        old_bindir=old_bindir,
        new_bindir=new_bindir,
        configuration=None if config is None else Path(os.path.abspath(config.expanduser())),
        weighs=work.given,
        database=database,
    )
    display = _Shown(page, as_json, local=not is_dsn(source))
    if display.local:
        answer = _answered(request, work, display)
    else:
        with _backup(source, request, agreed=agreed) as copied:
            answer = _answered(copied, work, display)
    if answer != "yes":
        raise SystemExit(1)


def _answered(request: UpgradeRequest, work: OwnWork, display: _Shown) -> str:
    """Rehearse, weigh what is named, and show both; the answer. Where the weighing fails or is
    interrupted, the rehearsal is shown without it."""
    from steelyard.cli.weighing.upgrade import (
        proposed_weighing,
        weigh_own_work,
        weighed_section,
        weighing_words,
    )
    from steelyard.engines.postgres.upgrade.rehearsal import rehearse

    outcome = rehearse(request, say)
    typed = _typed_words(request, outcome.source)
    proposed = proposed_weighing(outcome, typed, _bindir_words(request))
    if not work.given or outcome.answer == "no":
        display.show(outcome, proposed if outcome.upgrades else None)
        return outcome.answer
    try:
        arguments = _weighed_words(outcome, request, work)
        verdict = weigh_own_work(arguments, work.record, request.account)
    except BaseException:
        display.show(outcome, proposed)
        raise
    again = weighing_words(outcome, typed, work.options())
    display.show(outcome, weighed_section(outcome, verdict, again), verdict)
    return outcome.answer


def _weighed_words(
    outcome: UpgradeOutcome, request: UpgradeRequest, work: OwnWork
) -> tuple[str, ...]:
    """The arguments of `steelyard` that weigh the user's own work on the rehearsed data.
    A base backup of ours has the settings that its server reported, which only keys of the study
    can name."""
    from dataclasses import replace

    from steelyard.cli.weighing.upgrade import weighing_words
    from steelyard.study.change import Change

    if not request.reported:
        file = request.configuration
        config = [] if file is None else ["--config", str(file)]
        return weighing_words(outcome, ["--from", str(request.place), *config], work.options())
    keys = {
        "place": str(request.place),
        "database": work.database,
        "config": str(request.configuration),
        "partial": request.partial or None,
    }
    changes = [Change(f"source.{key}", value) for key, value in keys.items() if value]
    first = [] if work.workload else ["workload=own"]
    every = [*first, *changes, Change("source.reported", True)]
    source = [word for change in every for word in ("--set", change)]
    return weighing_words(outcome, source, replace(work, database=None).options())


def _typed_words(request: UpgradeRequest, source: str) -> list[str]:
    """The same as a user types them: of a running server, whose copy is gone, the server."""
    has_config = request.configuration is not None and not request.reported
    return ["--from", source, *(["--config", str(request.configuration)] if has_config else [])]


def _bindir_words(request: UpgradeRequest) -> list[str]:
    pairs = (("--old-bindir", request.old_bindir), ("--new-bindir", request.new_bindir))
    return [word for name, bindir in pairs if bindir is not None for word in (name, str(bindir))]


@contextmanager
def _backup(target: str, request: UpgradeRequest, *, agreed: bool) -> Iterator[UpgradeRequest]:
    """The request on a base backup of a running server, which is removed at the end."""
    from dataclasses import replace

    from steelyard.cli.options.source_options import back_up_whole
    from steelyard.engines.postgres.libpq.connection_words import without_password

    backup = back_up_whole(target, request.account, agreed=agreed)
    try:
        yield replace(
            request,
            place=backup.data,
            source=without_password(target),
            configuration=request.configuration or backup.settings,
            reported=request.configuration is None,
            partial=backup.partial if request.configuration is None else "",
            slots=backup.slots,
        )
    finally:
        shutil.rmtree(backup.data.parent, ignore_errors=True)
        backup.settings.unlink(missing_ok=True)


@dataclass(frozen=True)
class _Shown:
    """Where the outcome is shown."""

    page: Path | None
    as_json: bool
    local: bool
    """Whether the source is a directory, whose path commands can name."""

    def show(
        self, outcome: UpgradeOutcome, work: Section | None, verdict: Verdict | None = None
    ) -> None:
        """On standard output, and as a page where one was named. RecordError: that cannot be
        written."""
        from steelyard.cli.views.text_layout import terminal_width
        from steelyard.cli.views.upgrades.sections import terminal_text
        from steelyard.cli.views.upgrades.upgrade_view import answer_sentence, upgrade_sections

        sections = [*upgrade_sections(outcome, local=self.local), *([work] if work else [])]
        if self.as_json:
            weighed = None if verdict is None else verdict.to_json()
            typer.echo(json.dumps({**outcome.to_json(), "weighing": weighed}))
        else:
            width = min(80, terminal_width())
            typer.echo(terminal_text(answer_sentence(outcome), sections, width))
        if self.page is not None:
            _write_page(outcome, sections, self.page)


def _write_page(outcome: UpgradeOutcome, sections: list[Section], page: Path) -> None:
    from steelyard.cli.views.upgrades.sections import html_page, markdown
    from steelyard.cli.views.upgrades.upgrade_view import answer_sentence, output_sections
    from steelyard.model.files.own_directory import write_named

    written = html_page if page.suffix == ".html" else markdown
    try:
        text = written(answer_sentence(outcome), [*sections, *output_sections(outcome)])
        write_named(page, text)
    except OSError as error:
        raise RecordError(f'could not write "{page}": {error.strerror}') from error
