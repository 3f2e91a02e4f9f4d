"""Unit tests run in the world of the component: what the sandbox lacks is not there."""

import datetime
import logging
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime as moment
from pathlib import Path
from time import gmtime
from time import time as now
from typing import Any

import pytest
from nodesift import Nodes, Pod, predicate
from nodesift._sandbox import NotInSandbox
from nodesift.testing import Cluster, Evaluation, Node, limit


def run(does: Callable[[], Any]) -> Evaluation:
    @predicate(name="Test", summary="tests", reads=[])
    def runs(pod: Pod, nodes: Nodes) -> None:
        does()

    return Cluster(nodes=[Node("a")]).evaluate(runs)


def late_import() -> None:
    import colorsys  # noqa: F401


def leave() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("does", "text"),
    [
        (time.time, "time.time: a predicate has no clock"),
        (now, "time.time: a predicate has no clock"),
        (lambda: time.monotonic_ns(), "time.monotonic_ns: a predicate has no clock"),
        (lambda: time.clock_gettime(time.CLOCK_REALTIME), "time.clock_gettime: a predicate has no clock"),
        (lambda: time.localtime(), "time.localtime: a predicate has no clock"),
        (lambda: time.gmtime(None), "time.gmtime: a predicate has no clock"),
        (lambda: gmtime(), "time.gmtime: a predicate has no clock"),
        (lambda: time.ctime(), "time.ctime: a predicate has no clock"),
        (lambda: time.asctime(), "time.asctime: a predicate has no clock"),
        (lambda: time.strftime("%Y"), "time.strftime: a predicate has no clock"),
        (lambda: datetime.datetime.now(), "datetime.datetime.now: a predicate has no clock"),
        (lambda: moment.now(datetime.UTC), "datetime.datetime.now: a predicate has no clock"),
        (lambda: datetime.date.today(), "today: a predicate has no clock"),
        (lambda: time.sleep(0), "time.sleep: a predicate cannot wait"),
        (random.random, "random: a predicate has no randomness"),
        (lambda: random.choice([1, 2]), "random: a predicate has no randomness"),
        (lambda: os.urandom(1), "os.urandom: a predicate has no randomness"),
        (lambda: open(__file__), "io.open: a predicate has no files"),  # noqa: SIM115
        (lambda: Path(__file__).read_text(), "io.open: a predicate has no files"),
        (lambda: os.listdir("/"), "os.listdir: a predicate has no files"),
        (lambda: socket.create_connection(("localhost", 1)), "socket: a predicate has no network"),
        (lambda: subprocess.run(["true"]), "subprocess: a predicate has no other processes"),
        (lambda: os.environ["HOME"], "os.environ: a predicate has no environment"),
        (lambda: os.getenv("HOME"), "os.environ: a predicate has no environment"),
        (lambda: sys.exit(1), "sys.exit: a predicate does not exit"),
        (leave, "SystemExit: a predicate does not exit"),
        (late_import, "import colorsys: a predicate imports at the top of a file"),
    ],
)
def test_what_the_sandbox_lacks_raises_with_what_to_use(does: Callable[[], Any], text: str) -> None:
    with pytest.raises(NotInSandbox) as raised:
        run(does)
    assert text in str(raised.value)
    assert time.time() > 0 and time.gmtime().tm_year > 2000 and gmtime().tm_year > 2000
    assert random.random() < 1 and sys.getprofile() is None


def test_what_needs_nothing_of_the_machine_is_there() -> None:
    def does() -> None:
        assert datetime.datetime.fromisoformat("2026-01-31T00:00:00+00:00").timestamp() == 1769817600
        assert random.Random(1).random() == random.Random(1).random()
        assert datetime.datetime.strptime("2026", "%Y").year == 2026
        assert time.localtime(86400 * 400).tm_year == 1971 and gmtime(0).tm_year == 1970
        assert time.strftime("%Y", gmtime(0)) == datetime.datetime(1970, 1, 1).strftime("%Y") == "1970"
        assert time.asctime(gmtime(0)).endswith("1970") and time.ctime(86400 * 400).endswith("1971")

    assert run(does).rejected == []


def test_print_and_logging_write_into_the_log() -> None:
    def does() -> None:
        print("a", 1)
        print("b", end="")
        print("odd", file=sys.stderr)
        logging.info("seen %d", 2)
        logging.getLogger("mine").error("wrong\nindeed")

    assert run(does).lines == [
        ("info", "a 1"),
        ("warn", "odd"),
        ("info", "seen 2"),
        ("error", "mine: wrong indeed"),
        ("info", "b"),
    ]


def for_ever() -> None:
    while True:
        pass


def test_a_loop_that_does_not_end_is_told_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "LIMIT_S", 0.05)
    first = for_ever.__code__.co_firstlineno
    place = rf"no answer within 0.05 s, at .*test_sandbox\.py:({first + 1}|{first + 2}) in for_ever"
    with pytest.raises(limit.Deadline, match=place):
        run(for_ever)
    assert run(lambda: None).rejected == []
