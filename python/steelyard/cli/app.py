r"""Runs the `steelyard` program, prints errors, and turns them into exit statuses.

Under `--json` an error is one object on standard output as well, `{"error": {"primary", "detail",
"hint", "status"}}`.

0 the command did its work, 1 a `--fail-if` condition holds, or what was looked at is not as it
should be, 2 wrong usage, a wrong study or a load that did nothing, 3 it could not be completed, by
a defect too, 130 interrupted, 143 terminated, 129 its terminal was closed, 131 ended by Ctrl-\.

Under `--json` who parses standard output so finds one object there whatever happened; who reads a
log finds the same words on standard error as ever. Where a command had printed its object before it
failed, none is added.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import NoReturn

from steelyard import __version__
from steelyard.cli.commands import COMMANDS, FIRST_WORDS
from steelyard.cli.terminal import OutputError, pipe_closed, printed, sign_of_life, take_over
from steelyard.engines.defer_signals import ENDING
from steelyard.model.errors import SteelyardError, UsageError, nearest_hint
from steelyard.model.secrets.redaction import redacted

INTERRUPTED = 130
DEFECT = SteelyardError.exit_status
"""The interpreter's own, 1, would say that a gate has closed, or that damage was found."""
CLOSED_PIPE = 141
"""As a shell has it of a process that SIGPIPE ended."""

END_WORDS = {
    129: "its terminal was closed",
    130: "interrupted",
    131: "ended by SIGQUIT",
    143: "ended by SIGTERM",
}
"""Exit status → what ended the command from outside."""
COMPLETION = "_STEELYARD_COMPLETE"
"""The variable by which a shell asks to complete a command line."""
_NEW_OBJECTS = 20_000
"""Objects made before Python looks for garbage among them, which by itself it does after 700: all
that is imported and read stays, and a million rows were searched 6,000 times."""


def main() -> None:
    """The `steelyard` program."""
    gc.set_threshold(_NEW_OBJECTS)
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it for SIGHUP
            signal.signal(number, _terminate)
    take_over()
    sys.excepthook = _end_by_defect
    sys.unraisablehook = _print_unraisable
    if sys.argv[1:] == ["--version"]:
        print(f"steelyard {__version__}")  # as the option does, without importing the parser
        return
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        sign_of_life(f"{sys.argv[1]}: {FIRST_WORDS.get(sys.argv[1], 'at work')} …", sys.stderr)
    raise SystemExit(_run())


def _run() -> int:
    """The exit status of the command line."""
    # The parser takes most of the time that the program needs to start.
    import typer

    from steelyard.cli.command_line import app

    prepare_completion()
    try:
        status = app(standalone_mode=False)
    except SteelyardError as error:
        return print_error(error)
    except OSError as error:
        refusal = machine_refusal(error)
        if refusal is None:
            raise
        return print_error(refusal)
    except typer.TyperException as error:  # what the command line's parser refuses
        if len(sys.argv) == 1:
            print(error.format_message(), file=sys.stderr)  # no arguments: the help
            return UsageError.exit_status
        where = getattr(getattr(error, "ctx", None), "command_path", "")
        return print_error(usage_error(error.format_message(), where))
    except KeyboardInterrupt:  # once more, on the way out
        status = INTERRUPTED
    except SystemExit as ended:  # by a command, or by `_terminate`
        status = ended.code
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left that it could interrupt
    if pipe_closed():
        return CLOSED_PIPE
    status = int(status or 0)
    print_end(status)
    return status


def _end_by_defect(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print what happened, and end as what could not be completed."""
    _print_traceback(kind, error, trace)
    if issubclass(kind, Exception):
        raise SystemExit(DEFECT)


def _print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Of a defect: as the interpreter does, but a server's or a user's words are redacted."""
    import traceback

    print_defect("".join(traceback.format_exception(kind, error, trace)), error)


def _print_unraisable(ignored: sys.UnraisableHookArgs) -> None:
    """Print an exception that nothing can catch as the interpreter does, but redacted; none of one
    more Ctrl-C, which met what the first one had closed already."""
    import traceback

    if issubclass(ignored.exc_type, KeyboardInterrupt | SystemExit):
        return
    lines = traceback.format_exception(ignored.exc_type, ignored.exc_value, ignored.exc_traceback)
    text = redacted("".join(lines))
    print(f"Exception ignored in: {ignored.object!r}", text, sep="\n", end="", file=sys.stderr)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Raises, so that everything cleans up on the way out. A terminal that closes may say so more
    than once, which must not end the cleanup."""
    if number == signal.SIGHUP:
        signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


_REFUSALS: Mapping[int, str] = {
    errno.ENOSPC: "Free some room there.",
    errno.EDQUOT: "Free some room there: the quota of this account is used up.",
    errno.EFBIG: "Let files be longer: ulimit -f unlimited",
    errno.EROFS: "STEELYARD_CACHE names another place for the cache, --record for a record.",
    errno.EMFILE: "Let a process have more open files: ulimit -n 4096",
    errno.ENFILE: "The whole machine has no more open files: sysctl fs.file-max",
    errno.EAGAIN: "Let this account have more processes: ulimit -u, or pids.max of the container.",
    errno.ENOMEM: "Free some memory, or raise the limit of the container.",
    errno.EIO: "The device or its file system reports damage: see dmesg.",
    errno.ESTALE: "Mount the file system again.",
    errno.ENOTCONN: "Mount the file system again.",
}
"""What a machine refuses whatever a program does → what to type."""
_REFUSED_PATHS: Mapping[int, str] = {
    errno.EACCES: "Run as an account that may use it, or name another place.",
    errno.EPERM: "Run as an account that may use it, or name another place.",
    errno.EEXIST: "Something else stands there: name another place.",
    errno.EISDIR: "It is a directory: name a file.",
    errno.ENOTDIR: "A part of this path is a file: name another place.",
    errno.ENAMETOOLONG: "Name another place: a name has 255 bytes at most, a path 4,095.",
    errno.ELOOP: "A link of this path leads back to itself: name another place.",
}
"""What a path of the user's may be refused for, wherever it is used → what to type."""
_KERNELS = ("/proc/", "/sys/")
"""No user names a path there: that one is refused is a defect."""


def machine_refusal(error: OSError) -> SteelyardError | None:
    """The error for a full disk, a limit, a path that may not be used and the like, wherever it
    was met; None: a defect."""
    if isinstance(error, OutputError):
        why = str(error.strerror).lower()
        return SteelyardError(f"could not write to standard output: {why}")
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    hint = _REFUSED_PATHS.get(error.errno or 0)
    if path and hint is not None and not path.startswith(_KERNELS):
        return UsageError(f'could not use "{path}": {error.strerror}', hint=hint)
    if error.errno is None or error.errno not in _REFUSALS:
        return None
    where = f' at "{error.filename}"' if error.filename else ""
    return SteelyardError(
        f"could not go on{where}: {(error.strerror or str(error)).lower()}",
        detail="What was measured before is kept: a planned weighing goes on by --resume.",
        hint=_REFUSALS[error.errno],
    )


def usage_error(message: str, command: str = "") -> UsageError:
    """The parser's message in the form of every other error: its first sentence, then the hint;
    `command`: by which it was refused, `"steelyard weigh"`."""
    primary, _, hint = message.rstrip(".").replace("'", '"').partition(". ")
    for phrase, plain in _PARSERS_WORDS.items():
        primary = primary.replace(phrase, plain)
    primary = primary[:1].lower() + primary[1:]
    return UsageError(
        primary,
        hint=hint or _near_command(primary) or _change_in(primary, command) or _help_of(command),
    )


def _change_in(primary: str, command: str) -> str:
    """A hint for a change of a study without its option, of commands that take one."""
    if command.split()[-1:] not in (["weigh"], ["bisect"]):
        return ""
    from steelyard.cli.loose_change import loose_change

    return loose_change(primary, sys.argv[1:])


_PARSERS_WORDS = {
    "Input should be a valid number, unable to parse string as a number": "a number alone, "
    "without a unit",
    "Input should be a valid integer, unable to parse string as an integer": "a whole number "
    "alone, without a unit",
}


def _help_of(command: str) -> str:
    """The help that a refused command has."""
    names = command.split()  # the program's own name may be several
    while names and names[0] not in COMMANDS:
        del names[0]
    if not names:
        return "Try `steelyard -h`, or --help of a command."
    return f"Try `{' '.join(['steelyard', *names])} -h`."


def _command_words(words: Sequence[str]) -> Sequence[str]:
    """The command of a command line, with its own command where it has several."""
    from steelyard.cli.command_line import load_command

    if not words or words[0] not in COMMANDS:
        return ()
    inner = getattr(load_command(words[0]), "commands", {})
    return words[:2] if words[1:2] and words[1] in inner else words[:1]


def _near_command(primary: str) -> str:
    """A hint for a misspelt command, for parsers that make none; empty where nothing is near."""
    _, prefix, name = primary.partition("no such command ")
    if not prefix or sys.argv[1:2] in [[command] for command in COMMANDS]:
        return ""
    return nearest_hint(name.strip('"'), COMMANDS) or ""


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` stands among the words of a command line, before a `--`."""
    return "--json" in [*arguments, "--"][: [*arguments, "--"].index("--")]


def print_error(error: SteelyardError) -> int:
    """Print an error and return its exit status; a line that stands alone names the help."""
    if not error.hint and not error.detail and isinstance(error, UsageError):
        error.hint = _help_of(" ".join(_command_words(sys.argv[1:])))
    print(error, file=sys.stderr)
    _print_object(error.primary, error.detail, error.hint, error.exit_status)
    return error.exit_status


def print_defect(trace: str, error: BaseException) -> None:
    """Print a traceback, and under `--json` the object, without secrets."""
    print(redacted(trace), file=sys.stderr, end="")
    primary = redacted(f"defect of Steelyard: {type(error).__name__}: {error}")
    _print_object(primary, None, "Standard error has its traceback.", DEFECT)


def print_end(status: int) -> None:
    """What ended the command from outside, where the exit status says that something did."""
    primary = END_WORDS.get(status)
    if primary is None:
        return
    if status == 130:
        print(primary, file=sys.stderr)
    _print_object(primary, None, None, status)


def _print_object(primary: str, detail: str | None, hint: str | None, status: int) -> None:
    if wants_json(sys.argv[1:]) and not printed(sys.stdout):
        error = {"primary": primary, "detail": detail, "hint": hint, "status": status}
        with suppress(OutputError):  # standard error has the words
            print(json.dumps({"error": error}))
            sys.stdout.flush()


def prepare_completion() -> None:
    """Make the parser answer a shell's request; without one nothing of completion is imported."""
    if COMPLETION in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
