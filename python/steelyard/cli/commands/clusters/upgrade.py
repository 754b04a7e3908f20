"""`steelyard upgrade`: rehearses an upgrade to another major version on a copy."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.cli.command_line import say
from steelyard.cli.options.records_option import require_writable
from steelyard.model.errors import RecordError, UsageError

if TYPE_CHECKING:
    from steelyard.engines.postgres.upgrade.outcome import UpgradeOutcome
    from steelyard.engines.postgres.upgrade.rehearsal import UpgradeRequest

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

    The original is read and never written. Exit status 1: not as it is.
    """
    from steelyard.cli.options.source_options import is_dsn
    from steelyard.engines.postgres.upgrade.outcome import WAYS
    from steelyard.engines.postgres.upgrade.rehearsal import UpgradeRequest, rehearse

    ways = tuple(dict.fromkeys(way or USUAL_WAYS))
    unknown = [each for each in ways if each not in WAYS]
    if unknown:
        raise UsageError(f'unknown way: "{unknown[0]}"', hint=f"Known: {', '.join(WAYS)}.")
    if page is not None and page.suffix not in _SUFFIXES:
        raise UsageError(f'cannot write a page as "{page}"', hint="Name a .md or .html file.")
    require_writable(page)
    request = UpgradeRequest(
        place=Path(os.path.abspath(os.path.expanduser(source))),
        version=version,
        ways=ways,
        jobs=jobs,
        account=account,
        old_bindir=old_bindir,
        new_bindir=new_bindir,
        configuration=None if config is None else Path(os.path.abspath(config.expanduser())),
    )
    local = not is_dsn(source)
    if local:
        outcome = rehearse(request, say)
    else:
        with _backup(source, request, agreed=agreed) as copied:
            outcome = rehearse(copied, say)
    typer.echo(json.dumps(outcome.to_json()) if as_json else _terminal(outcome, local=local))
    if page is not None:
        _write_page(outcome, page, local=local)
    if outcome.answer != "yes":
        raise SystemExit(1)


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
            slots=backup.slots,
        )
    finally:
        shutil.rmtree(backup.data.parent, ignore_errors=True)
        backup.settings.unlink(missing_ok=True)


def _terminal(outcome: UpgradeOutcome, *, local: bool) -> str:
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.cli.views.upgrades.sections import terminal_text
    from steelyard.cli.views.upgrades.upgrade_view import answer_sentence, upgrade_sections

    width = min(80, terminal_width())
    return terminal_text(answer_sentence(outcome), upgrade_sections(outcome, local=local), width)


def _write_page(outcome: UpgradeOutcome, page: Path, *, local: bool) -> None:
    """RecordError: it cannot be written."""
    from steelyard.cli.views.upgrades.sections import html_page, markdown
    from steelyard.cli.views.upgrades.upgrade_view import (
        answer_sentence,
        output_sections,
        upgrade_sections,
    )
    from steelyard.model.files.own_directory import write_named

    written = html_page if page.suffix == ".html" else markdown
    sections = [*upgrade_sections(outcome, local=local), *output_sections(outcome)]
    try:
        write_named(page, written(answer_sentence(outcome), sections))
    except OSError as error:
        raise RecordError(f'could not write "{page}": {error.strerror}') from error
