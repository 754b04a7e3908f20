"""`steelyard studies`: lists the built-in studies, or prints one to copy."""

from __future__ import annotations

import json

import typer

from steelyard.model.errors import StudyError, nearest_hint


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("studies")(studies)


def studies(
    name: str | None = typer.Argument(None, help="Print this study's TOML, to copy and change."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """List the built-in studies, or print one to copy."""
    from steelyard.study.answer import GROUPS
    from steelyard.study.read import builtin_studies, read_study

    builtin = builtin_studies()
    if name is not None:
        if name not in builtin:
            hint = nearest_hint(name, builtin)
            raise StudyError(
                f'unrecognized study: "{name}"',
                detail=None if hint else f"The built-in studies are {', '.join(builtin)}.",
                hint=hint,
            )
        typer.echo(builtin[name].read_text(encoding="utf-8"), nl=False)
        return
    read = [read_study(each) for each in builtin]
    if as_json:
        facts = [
            {
                "name": s.name,
                "title": s.title,
                "question": s.question,
                "group": s.group,
                "needs": [*(["contrib"] if s.contrib else []), *s.needs],
            }
            for s in read
        ]
        typer.echo(json.dumps({"studies": facts}))
        return
    width = max(len(each) for each in builtin)
    for group, title in GROUPS.items():
        typer.echo(f"{title}:")
        for study in read:
            if study.group == group:
                typer.echo(f"  {study.name:<{width}}  {study.title}")
