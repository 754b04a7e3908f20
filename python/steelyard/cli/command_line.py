"""Defines the command line: its options, and commands that are imported when they are invoked."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from steelyard import __version__
from steelyard.cli.commands import COMMANDS, GROUPS, module_of
from steelyard.model.errors import UsageError
from steelyard.model.secrets.redaction import redacted


def say(message: str) -> None:
    """What a command is at, on standard error, without secrets."""
    typer.echo(redacted(message), err=True)


class Group(TyperGroup):
    """A group whose help option has a value where it is not given, and whose options, where they
    stand before a command of it, are that command's.

    For an option without a value typer imports pydantic, which takes longer than all the rest.
    """

    def get_help_option(self, ctx: Any) -> Any:
        """The option, false by default."""
        option = super().get_help_option(ctx)
        if option is not None and option.default is None:
            option.default = False
        return option

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name, and what it gets: the group's own options as well.
        UsageError: it has none of that name."""
        name, command, rest = super().resolve_command(ctx, args)
        if not ctx.resilient_parsing:
            _refuse_words(command, rest)
        return name, command, [*_options_before(ctx, name, command), *rest]


def _options_before(ctx: Any, name: str | None, command: Any) -> Iterator[str]:
    for option in () if ctx.resilient_parsing else ctx.command.params:  # a shell completes words
        source = ctx.get_parameter_source(option.name)
        if source is None or source.name != "COMMANDLINE":
            continue
        if not any({*option.opts} & {*each.opts} for each in command.params):
            raise UsageError(
                f"{ctx.command_path} {name} has no option {option.opts[0]}",
                hint=f"Try `{ctx.command_path} {name} -h`.",
            )
        value = ctx.params[option.name]
        if isinstance(value, bool):
            yield option.opts[0] if value else option.secondary_opts[0]
            continue
        for each in value if isinstance(value, (list, tuple)) else [value]:
            yield from (option.opts[0], str(each))


_OF_LIBPQ = frozenset({"--dbname", "--host", "--port", "--username"})
"""Options that leave it to the environment where they are empty, as libpq has it."""


_ONE_ALONE = {
    "--control": "A study has one control.",
    "--arm": "Several arms are those of a study's file: [[arm]] before each.",
    "--sweep": "Sweep one key after the other, or make both the factors of a study.",
    "--along": "Walk along one key.",
    "--from": "Weigh one after the other.",
    "--address": "Arms at two addresses: --control address=DSN --arm address=DSN",
}
"""Options that say what is weighed, of which the parser would take the last one alone."""


def _names_of_one_value(command: Any) -> set[str]:
    """How the options are written that take one value."""
    return {
        name
        for each in command.params
        if each.param_type_name == "option" and not (each.is_flag or each.multiple)
        for name in each.opts
        if _OF_LIBPQ.isdisjoint(each.opts)
    }


def _refuse_words(command: Any, arguments: Sequence[str]) -> None:
    """UsageError: an option has no value, or one that says what is weighed stands there twice."""
    names = _names_of_one_value(command)
    _refuse_empty(names, arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [word.partition("=")[0] for word in arguments[:end]]
    for option, hint in _ONE_ALONE.items():
        if option in names and options.count(option) > 1:
            raise UsageError(f"option {option} stands there twice", hint=hint)


def _refuse_empty(names: Collection[str], arguments: Sequence[str]) -> None:
    """UsageError: an option that takes one value is given none of its letters, as a shell does of
    a variable that is not set: it would be as if the option were not there."""
    for before, word in pairwise(["", *arguments]):
        if word == "--":
            return
        option = before if word == "" else word.removesuffix("=")
        if option in names and option != word:
            raise UsageError(
                f"option {option} has an empty value",
                hint="Is a variable of the shell not set? Give it a value, or leave it out.",
            )


class LazyGroup(Group):
    """The commands of COMMANDS: listed by their help lines, imported when one is invoked."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=line) for name, line in COMMANDS.items()}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands with their lines, by purpose."""
        wide = formatter.width - 6 - max(map(len, COMMANDS))
        for purpose, names in GROUPS.items():
            rows = [(name, self.commands[name].get_short_help_str(wide)) for name in names]
            with formatter.section(purpose):
                formatter.write_dl(rows, col_max=30, col_spacing=_spacing(names))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name, imported, and the arguments after its name."""
        name, listed, rest = super().resolve_command(ctx, args)
        command = load_command(name) if name else listed
        if not ctx.resilient_parsing:
            _refuse_words(command, rest)
        return name, command, rest


def _spacing(names: tuple[str, ...]) -> int:
    """So that the lines of every group begin in one column."""
    return 2 + max(map(len, COMMANDS)) - max(map(len, names))


def load_command(name: str) -> Any:
    """Imports one of COMMANDS, as an object of the parser."""
    parser = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    importlib.import_module(module_of(name)).register(parser)
    return typer.main.get_group(parser).commands[name]


app = typer.Typer(
    cls=LazyGroup,
    name="steelyard",
    help="A laboratory for databases: weighs settings, versions and page verification.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"steelyard {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """A laboratory for databases: weighs settings, versions and page verification."""
