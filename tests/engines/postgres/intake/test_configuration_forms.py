"""What is advised for a file of another form makes a configuration of it, or nothing is lost in
silence: the server refuses the line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from steelyard.engines.postgres.intake.configuration_file import ConfigurationReader
from steelyard.model.errors import EngineError

CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata:
  name: pg
data:
  pg_hba.conf: |
    local all all trust
  postgresql.conf: |
    shared_buffers = 4GB

    work_mem = '64MB'   # more
  other: text
"""
HELM = "primary:\n  extendedConfiguration: |-\n      shared_buffers = 4GB\n      jit = off\n"
ANSIBLE = """postgresql_global_config_options:
  - option: shared_buffers
    value: 4GB
  - option: "log_line_prefix"
    value: '%m [%p] it''s'
  - option: search_path
    value: "it's, public"  # more
"""
PATRONI = """bootstrap:
  dcs:
    ttl: 30
    postgresql:
      use_pg_rewind: true
      parameters:
        shared_buffers: 4GB
        # a comment
        pg_stat_statements.track: all
        md5_password_warnings: off
        shared_preload_libraries: pg_stat_statements, auto_explain
postgresql:
  parameters:
    jit: "off"
  authentication:
    superuser:
      password: S3cretTok
"""
CNPG = """spec:
  postgresql:
    parameters:
      shared_buffers: 4GB
      "pg_stat_statements.max": "10000"
      'work_mem': 64MB
  storage:
    size: 1Gi
"""
SQL = """-- was ALTER SYSTEM SET geqo = off;
ALTER SYSTEM SET "auto_explain.log_min_duration" = '1s';
\tALTER SYSTEM SET work_mem TO '64MB'; -- ALTER SYSTEM SET geqo = off;
/* ALTER SYSTEM SET geqo = off; */ ALTER SYSTEM SET jit = off;
alter system set md5_password_warnings=off; ALTER SYSTEM SET my.text = 'a; it''s -- b';
ALTER SYSTEM
  SET
  shared_buffers = '4GB';
ALTER DATABASE shop SET geqo = off;
SELECT pg_reload_conf();
"""
RDS = """{
  "Parameters": [
    {"ParameterName": "work_mem", "ParameterValue": "65536", "Source": "user"},
    {"ParameterName": "search_path", "ParameterValue": "it's"},
    {"ParameterName": "jit", "Source": "engine-default"}
  ]
}
"""
TWO = {"shared_buffers": "4GB", "work_mem": "64MB"}
FORMS = {
    "config map": (CONFIG_MAP, TWO),
    "helm": (HELM, {"shared_buffers": "4GB", "jit": "off"}),
    "ansible": (ANSIBLE, {"shared_buffers": "4GB", "log_line_prefix": "%m [%p] it's",
                          "search_path": "it's, public"}),
    "patroni": (PATRONI, {
        "shared_buffers": "4GB", "pg_stat_statements.track": "all", "jit": "off",
        "md5_password_warnings": "off",
        "shared_preload_libraries": "pg_stat_statements, auto_explain"}),
    "cnpg": (CNPG, {**TWO, "pg_stat_statements.max": "10000"}),
    "flat": ("---\n# mine\nshared_buffers: 4GB\nwork_mem: '64MB'\n", TWO),
    "sql": (SQL, {
        **TWO, "auto_explain.log_min_duration": "1s", "jit": "off", "md5_password_warnings": "off",
        "my.text": "a; it's -- b"}),
    "rds": (RDS, {"work_mem": "65536", "search_path": "it's"}),
    "command line": ("-c shared_buffers=4GB -c work_mem=64MB\n", TWO),
    "server": ("postgres -cshared_buffers=4GB --work_mem=64MB\n", TWO),
    "gcloud": ("shared_buffers=4GB,work_mem=64MB\n", TWO),
    "gcloud option": ("--database-flags=shared_buffers=4GB,work_mem=64MB\n", TWO),
}  # fmt: skip


def read(directory: Path, text: str) -> dict[str, str]:
    (directory / "its own.conf").write_text(text)
    return ConfigurationReader().settings(directory / "its own.conf")


def hint_of(directory: Path, text: str) -> str:
    with pytest.raises(EngineError, match="is no setting") as refused:
        read(directory, text)
    return str(refused.value.hint)


def converted(directory: Path, text: str) -> str:
    """What the advised command writes, typed as it stands."""
    command = (
        hint_of(directory, text).partition(" VALUE: ")[2]
        or (hint_of(directory, text).partition(" configuration: ")[2])
    )
    command = command.partition(" > FILE")[0]
    assert command, hint_of(directory, text)
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("form", FORMS)
def test_the_advised_command_makes_a_configuration_that_says_the_same(
    tmp_path: Path, form: str
) -> None:
    text, settings = FORMS[form]
    assert read(tmp_path, converted(tmp_path, text)) == settings


@pytest.mark.parametrize(
    "text",
    [
        "parameters:\n  work_mem: 64MB\n  jit:\n    - off\n",
        'parameters:\n  work_mem: 64MB\n  my.x: "a\\tb"\n',
        "parameters:\n  work_mem: 64MB\n  my.x: 'a\n    b'\n",
        "- option: work_mem\n  value: 64MB\n- option: jit\n  state: absent\n",
        "ALTER SYSTEM SET work_mem = '64MB';\nALTER SYSTEM SET my.x = 'a', 'b';\n",
        "-c work_mem=64MB -c 'my.x=a b'\n",
        "work_mem=64MB,my.x=a,b\n",
    ],
)
def test_what_the_command_cannot_convert_is_a_line_that_is_refused(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(EngineError, match="is no setting"):
        read(tmp_path, converted(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ALTER SYSTEM SET jit = off;\nALTER SYSTEM RESET jit;\n", "remove these statements"),
        ("ALTER SYSTEM SET jit TO DEFAULT;\n", "remove these statements"),
        ("-- PostgreSQL database dump\nSET jit = off;\n", "SQL without ALTER SYSTEM"),
        ("services:\n  db:\n    command: postgres -c jit=off\n", "each -c NAME=VALUE of a command"),
        (" name | setting \n---+---\n jit | off\n", "psql -AtXc"),
        ("name,setting,unit\njit,off,\n", "psql -AtXc"),
        ('resource "aws_db_parameter_group" "x" {\n', "like Terraform"),
        ('{"jit": "off"}\n', "It is JSON"),
        ("work_mem == 4MB\n", "correct or remove it"),
        ("jit = off = on\n", "correct or remove it"),
        ("[mysqld]\n", "--set arm.settings.NAME=VALUE"),
    ],
)
def test_a_form_of_which_no_command_makes_a_configuration_is_called_by_name(
    tmp_path: Path, text: str, words: str
) -> None:
    assert words in hint_of(tmp_path, text)
