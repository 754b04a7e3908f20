"""A server that lists its variables as `mysqld --verbose --help` does, and warns before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engines.mysql.fake_packages import installed, npm_files
from steelyard.engines.mysql.builds.build import Build, build_in

_HEAD = """#!/bin/sh
cat >&2 <<'LOG'
{log}
LOG
cat <<'TABLE'
server  Ver 8.4.0 for Linux on x86_64 (x)

Variables (--variable-name=value)
and boolean options {{FALSE|TRUE}}  Value (after reading options)
--------------------------------- ----------------------------------------
TABLE
"""
_VARIABLE = """
value='{default}'
for word in "$@"; do
  case "$word" in --{name}=*|--loose-{name}=*) value=${{word#*=}} ;; esac
done
[ "$value" = ON ] && value=TRUE
printf '%-60s %s\\n' {name} "$value"
"""


def listing(place: Path, variables: Mapping[str, str], log: str = "") -> Build:
    """A build whose server lists these variables, with their defaults where it is not given
    others, and writes a log before."""
    parts = [_HEAD.format(log=log)]
    parts += [
        _VARIABLE.format(name=name.replace("_", "-"), default=default)
        for name, default in variables.items()
    ]
    script = "".join([*parts, "echo\nexit 0\n"])
    files = {**npm_files("8.4.0"), "package/server/mysqld": script.encode()}
    return build_in(installed(place, files) / "package/server")
