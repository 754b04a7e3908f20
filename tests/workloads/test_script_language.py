"""The script language means what it means in pgbench: pgbench itself is asked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from steelyard._core import builtin_script, script_statements
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import connected
from steelyard.engines.programs import run
from steelyard.model.endpoint import Endpoint

Call = Callable[..., str]

SEED = 20_251_121
EXECUTIONS = 20

EXPRESSIONS = (
    "random(1, 100000 * :scale)",
    "random(-5000, 5000)",
    "random(7, 7)",
    "random(-4611686018427387904, 4611686018427387902)",
    "random_gaussian(1, 1000, 2.5)",
    "random_exponential(1, 1000, 3)",
    "random_zipfian(1, 1000000, 1.07)",
    "hash(random(1, 10))",
    "hash_fnv1a(random(1, 10), 42)",
    "hash_murmur2(-1, 9223372036854775807)",
    "permute(random(0, 999), 1000)",
    "permute(123456789, 1000000007, 5)",
    "permute(3, 64, -7)",
    "7 / 2 + -7 / 2 * 10 + -7 % 3",
    "7.0 / 2 - 1e3 * 0.125",
    "1 / 3.0",
    "sqrt(2) * pi() + exp(1) - ln(10)",
    "pow(2, 0.5)",
    "power(10, 20)",
    "-1e-9",
    "1e15 + 0.0",
    "123456789012345678.0",
    "100000.0 * 10",
    "int(2.5) + int(3.5) + int(-2.5)",
    "double(3)",
    "abs(-5) + abs(-5.5)",
    "least(3, 1.5, 2, 9)",
    "greatest(3, 1, 2, 9)",
    "least(4)",
    "~ 5 + 1",
    "1 | 6 & 3 # 8",
    "1 << 4 - 2",
    "-16 >> 2",
    "not 1 = 2 and 3 > 2 or false",
    "1 = 2 is null",
    "null is null is true",
    "null isnull",
    "5 notnull",
    "1 + null",
    "null and true",
    "null or true",
    "true is not false",
    "1 = 1.0",
    "3 >= 2 and 2 != 1 and 1 <> 0",
    "case when 1 > 2 then 1 when random(0, 1) = 0 then 2.5 else 3 end",
    "case when 0.0 then 1 end",
    "mod(-7, 3)",
    "-9223372036854775808",
    "-9223372036854775808 % -1",
    "+ - + 3",
    ":text + 1",
    ":hex + 0.25",
)

REFUSED = (
    "1 / 0",
    "9223372036854775807 + 1",
    "-9223372036854775807 - 2",
    "9223372036854775807 * 2",
    "-9223372036854775808 / -1",
    "int(1e30)",
    "1 + true",
    "not 1",
    "random(2, 1)",
    "random(-9223372036854775807, 9223372036854775807)",
    "random_gaussian(1, 10, 1.5)",
    "random_exponential(1, 10, 0.0)",
    "random_zipfian(1, 10, 1.0)",
    "permute(1, 0, 1)",
    "1 < 2 < 3",
    "least()",
    "random(1)",
    "9223372036854775809",
    "1e999",
    "nope(1)",
)

MASK = (1 << 64) - 1

VARIABLES = {"scale": "50", "default_seed": "7", "text": "41", "hex": "-0x1.8p3"}

pytestmark = pytest.mark.postgres


@pytest.fixture
def pgbench_run(
    engine18: Postgres,
    place: Path,
    serve: Callable[[Cluster], AbstractContextManager[Endpoint]],
) -> object:
    return serve(engine18.create(place / "data", protection="none"))


def client_seed(seed: int) -> int:
    """What pgbench seeds its first client with: the first number of the generator of `seed`.

    Only the first output of xoroshiro128** is needed, which depends on the first state word.
    """
    value = (seed + 0x9E3779B97F4A7C15) & MASK
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    value ^= value >> 31
    product = value * 5 & MASK
    return ((product << 7 | product >> 57) & MASK) * 9 & MASK


def ask(engine: Postgres, address: Endpoint, file: Path, count: int) -> tuple[int, str]:
    defined = [f"--define={name}={value}" for name, value in VARIABLES.items()]
    where = [f"--host={address.host}", f"--port={address.port}", "--username=postgres"]
    options = ["-n", "-c1", f"-t{count}", f"--random-seed={SEED}", f"--file={file}"]
    command = [f"{engine.identity.bindir}/pgbench", *options, *defined, *where, "postgres"]
    return run(engine.account, command)


@pytest.mark.long
def test_expressions_and_random_numbers_are_pgbenchs(
    engine18: Postgres, place: Path, pgbench_run: AbstractContextManager[Endpoint]
) -> None:
    sets = "".join(f"\\set v{n} {expression}\n" for n, expression in enumerate(EXPRESSIONS))
    asked = "".join(f"INSERT INTO seen (v) VALUES (':v{n}');\n" for n in range(len(EXPRESSIONS)))
    theirs = place / "theirs.sql"
    theirs.write_text(sets + asked)
    with pgbench_run as address:
        with connected(address) as connection:
            connection.execute("CREATE TABLE seen (n serial, v text)")
        status, words = ask(engine18, address, theirs, EXECUTIONS)
        assert status == 0, words
        with connected(address) as connection:
            seen = [row[0] for row in connection.execute("SELECT v FROM seen ORDER BY n")]
    shown = "".join(f"SELECT :v{n};\n" for n in range(len(EXPRESSIONS)))
    statements = script_statements("ours", sets + shown, VARIABLES, client_seed(SEED), EXECUTIONS)
    ours = [statement.removeprefix("SELECT ").removesuffix(";") for statement in statements]
    assert len(seen) == len(ours) == EXECUTIONS * len(EXPRESSIONS)
    differing = {
        EXPRESSIONS[n % len(EXPRESSIONS)]: (a, b)
        for n, (a, b) in enumerate(zip(ours, seen, strict=True))
        if a != b
    }
    assert differing == {}


@pytest.mark.long
def test_what_pgbench_refuses_is_refused_in_its_words(
    engine18: Postgres, place: Path, pgbench_run: AbstractContextManager[Endpoint]
) -> None:
    with pgbench_run as address:
        for expression in REFUSED:
            text = f"\\set v {expression}\nSELECT 1;\n"
            file = place / "refused.sql"
            file.write_text(text)
            _, words = ask(engine18, address, file, 1)
            assert "aborted" in words or "fatal" in words or "error" in words, expression
            with pytest.raises(ValueError, match=r"^ours") as refused:
                script_statements("ours", text, VARIABLES)
            reason = str(refused.value).splitlines()[0].split(": ", 1)[1]
            core = reason.split('"')[0].split(" of function")[0].split(" at or near")[0].strip()
            assert core in words, (expression, reason, words)


def test_built_in_scripts_are_pgbenchs(engine18: Postgres, call: Call) -> None:
    for name in ("tpcb-like", "simple-update", "select-only"):
        words = call(engine18, "pgbench", f"--show-script={name}")
        shown = "\n".join(line for line in words.splitlines() if not line.startswith("--"))
        ours = builtin_script(name)
        assert ours is not None
        assert ours.strip() == shown.strip()


def test_answers_that_nobody_gave_are_one() -> None:
    text = "SELECT a, b FROM t \\gset got_\n\\if :got_a > 0\nSELECT :got_b;\n\\endif\n"
    assert script_statements("mine", text, {})[-1] == "SELECT 1;"
