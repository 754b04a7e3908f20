"""The validation goes on where it was, and never mixes results of different code."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from thinned import thinned
from validation.cases.case import seed_of
from validation.fingerprint import essence_of, fingerprint
from validation.results import Results
from validation.suites import SUITES
from validation.work import work_through


@dataclass(frozen=True)
class Waiting:
    """A case that takes a known time."""

    number: int
    seconds: float = 0.0

    @property
    def key(self) -> str:
        return f"waiting/{self.number}"

    @property
    def cost(self) -> float:
        return max(self.seconds, 0.001)

    def work(self) -> Mapping[str, Any]:
        time.sleep(self.seconds)
        return {"number": self.number}


def test_every_case_gets_one_result_and_is_not_done_again(tmp_path: Path) -> None:
    results, said = Results(tmp_path / "r.jsonl"), list[str]()
    cases = [Waiting(number) for number in range(7)]
    assert work_through(cases[:3], results, "code", said.append)
    assert work_through(cases, results, "code", said.append)
    assert work_through(cases, results, "code", said.append)
    assert sorted(one["number"] for one in results) == list(range(7))
    assert said[-1].startswith("100 %")


def test_results_of_other_code_are_dropped_and_done_again(tmp_path: Path) -> None:
    results = Results(tmp_path / "r.jsonl")
    work_through([Waiting(1), Waiting(2)], results, "old", lambda words: None)
    work_through([Waiting(2)], results, "new", lambda words: None)
    assert [(one["key"], one["code"]) for one in results] == [("waiting/2", "new")]


def test_no_case_is_begun_that_would_end_too_late(tmp_path: Path) -> None:
    results = Results(tmp_path / "r.jsonl")
    cases = [Waiting(1), Waiting(2, seconds=1_000.0)]
    assert not work_through(cases, results, "code", lambda words: None, most_seconds=100.0)
    assert [one["key"] for one in results] == ["waiting/1"]


SCRIPT = """
import signal
import sys
from pathlib import Path
from calibration.test_work import Waiting
from validation.results import Results
from validation.work import work_through
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
cases = [Waiting(n, seconds=0.4) for n in range(200)]
work_through(cases, Results(Path(sys.argv[1])), "code", lambda words: print("working", flush=True))
"""


@pytest.mark.long
def test_ctrl_c_keeps_what_was_done_and_is_no_crash_of_the_workers(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'tests'}:{root}"}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "r.jsonl")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    # The script's own, which has no handler; another error's may stand before it.
    assert said.count("\nKeyboardInterrupt") == 1, said
    assert 1 <= len(list(Results(tmp_path / "r.jsonl"))) < 100


AMID = """
import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from calibration.test_work import Waiting
from validation import work
from validation.results import Results

class Amid(threading.Condition):
    # Ctrl-C between a lock and the block that is to free it, the third time.
    times = 0

    def __enter__(self):
        entered = super().__enter__()
        Amid.times += 1
        if Amid.times == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return entered

class Pool(ProcessPoolExecutor):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._work_ids.not_full = Amid(self._work_ids.mutex)

signal.signal(signal.SIGINT, signal.default_int_handler)
work.ProcessPoolExecutor = Pool
cases = [Waiting(n) for n in range(20)]
work.work_through(cases, Results(Path(sys.argv[1])), "code", lambda words: None)
"""


@pytest.mark.long
def test_ctrl_c_while_a_case_is_handed_out_leaves_no_queue_locked(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", AMID, str(tmp_path / "r.jsonl")],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{root / 'tests'}:{root}"},
        timeout=60,
    )
    assert ended.stderr.count("\nKeyboardInterrupt") == 1, ended.stderr
    assert len(list(Results(tmp_path / "r.jsonl"))) == 3  # all that were handed out


def test_the_seed_of_a_key_is_what_the_page_says_it_is() -> None:
    import hashlib

    digest = hashlib.sha256(b"simulation/white/12/looks/0").hexdigest()
    assert seed_of("simulation/white/12/looks/0") == int(digest[:16], 16)


def test_code_is_told_apart_by_what_it_does_and_not_by_its_words() -> None:
    plain = "def f(x):\n    return x + 1\n"
    told = '"""Module."""\ndef f(x):\n    """Adds one."""\n    # why\n    return (x + 1)\n'
    assert essence_of(plain) == essence_of(told)
    assert essence_of(plain) != essence_of(plain.replace("1", "2"))
    assert fingerprint([seed_of, work_through]) == fingerprint([work_through, seed_of])
    assert fingerprint([seed_of]) != fingerprint([work_through])


def test_moved_code_keeps_its_fingerprint_and_a_renamed_import_does_not() -> None:
    here = "from steelyard.a import x, y\nimport math\nA = x\ndef f():\n    return y(math.e)\n"
    there = (
        "from __future__ import annotations\nimport math\nfrom steelyard.b.c import x\n"
        "def f():\n    from validation.d import y\n    return y(math.e)\nA = x\n"
    )
    assert essence_of(here) == essence_of(there)
    for code, other in (("x, y", "x, z as y"), ("import math", "import cmath as math")):
        assert essence_of(here) != essence_of(here.replace(code, other)), code
    assert essence_of("if A:\n    pass\nelse:\n    f()") != essence_of("if A:\n    pass")


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("def f(x):\n a = x\n return a", "def f(x):\n b = x\n return b"),
        ("def f(x):\n return [a for a in x if a]", "def f(x):\n return [b for b in x if b]"),
        ("def f(x):\n return {a: b for a, b in x}", "def f(x):\n return {b: a for b, a in x}"),
        ("F = lambda a, *, b=1: a + b", "F = lambda c, *, d=1: c + d"),
        ("def f():\n for a in g(): yield a", "def f():\n for e in g(): yield e"),
        ("def f():\n with g() as a: a()", "def f():\n with g() as b: b()"),
        (
            "def f():\n try: g()\n except E as a: raise a",
            "def f():\n try: g()\n except E as b: raise b",
        ),
        (
            "def f(x):\n match x:\n  case [a, *b] | {'k': a, **b}: g(a, b)",
            "def f(x):\n match x:\n  case [c, *d] | {'k': c, **d}: g(c, d)",
        ),
        ("def f(x):\n g(a := x)\n return a", "def f(x):\n g(b := x)\n return b"),
        (
            "def f(x):\n [a := y for y in x]\n return a",
            "def f(x):\n [b := z for z in x]\n return b",
        ),
        (
            "def f():\n a = 1\n def g(): return a\n return g",
            "def f():\n b = 1\n def g(): return b\n return g",
        ),
        (
            "class C:\n def f(self):\n  a = 1\n  return a",
            "class C:\n def f(self):\n  b = 1\n  return b",
        ),
    ],
)
def test_what_a_local_variable_is_called_does_not_count(here: str, there: str) -> None:
    assert essence_of(here) == essence_of(there)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("def f(x): return x", "def f(y): return y"),  # a call may name it
        ("def f(a, b):\n c, d = a, b\n return c", "def f(a, b):\n c, d = a, b\n return d"),
        ("def f():\n a = 1\n return a", "def f():\n a = 1\n return b"),
        ("def f(x):\n return [a for a in x]", "def f(x):\n return [b for a in x]"),
        ("def f():\n global a\n a = 1", "def f():\n global b\n b = 1"),
        ("A = 1", "B = 1"),
        ("class C:\n a = 1", "class C:\n b = 1"),
        ("def f(x):\n a = x\n return a.a", "def f(x):\n b = x\n return b.b"),
        ("def f(x):\n a = x\n return g(a=a)", "def f(x):\n b = x\n return g(b=b)"),
        (
            "def f():\n a = 1\n class C:\n  a = 2\n  def g(self): return a",
            "def f():\n a = 1\n class C:\n  a = 2\n  def g(self): return C.a",
        ),
        (
            "def f():\n a = 1\n def g():\n  a = 2\n  return a\n return a",
            "def f():\n a = 1\n def g():\n  nonlocal a\n  a = 2\n  return a\n return a",
        ),
        ("def f(x):\n a = b = x\n return a, b", "def f(x):\n a = b = x\n return b, a"),
    ],
)
def test_which_variable_is_meant_counts(here: str, there: str) -> None:
    assert essence_of(here) != essence_of(there)


def test_where_code_is_cut_into_modules_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in (
        ("whole", "import math\nA = 1\ndef f():\n    return math.e\n"),
        ("first_half", "import math\nA = 1\n"),
        (
            "second_half",
            "import math\nfrom validation.work import work_through\ndef f():\n    return math.e\n",
        ),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    whole, *halves = map(importlib.import_module, ("whole", "first_half", "second_half"))
    assert fingerprint([whole]) == fingerprint(halves)
    assert fingerprint([whole]) != fingerprint(halves[:1])
    assert fingerprint([whole]) != fingerprint([whole, halves[0]])  # A = 1 stands there twice


@thinned("suite", SUITES, 2, ids=[one.name for one in SUITES])
def test_every_case_of_a_suite_has_a_key_of_its_own(suite: Any) -> None:
    keys = [case.key for case in suite.cases()]
    assert len(keys) == len(set(keys)) > 0
    assert len(suite.code.split()[0]) == 12
