"""What the sandbox lacks, and what stands in its place.

In a component (`guest`) names that would read a clock, a file or the network are replaced by functions that raise; in unit tests
(`testing`) a call of them raises, however it was imported. `print` and `logging` write into the log of the sidecar in both.
"""

import builtins
import datetime
import importlib
import io
import logging
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from ._host import write

REASONS = {
    "clock": "a predicate has no clock: its answer would go stale unnoticed; passed(at) says whether a moment has passed, "
    "and reads `time`",
    "randomness": "a predicate has no randomness: it must answer the same question in the same way; random.Random(seed) is there",
    "wait": "a predicate cannot wait: it answers at once, from its facts",
    "files": "a predicate has no files while it runs: what is read at the top of a file, when the module is built, is there later",
    "network": "a predicate has no network: what it needs comes from facts, arguments and the ConfigMaps that a policy lists",
    "processes": "a predicate has no other processes and threads",
    "environment": "a predicate has no environment: a policy gives it arguments",
    "exit": "a predicate does not exit: return a verdict, or raise an exception",
    "import": "a predicate imports at the top of a file: that runs when the module is built, and later there are no files",
}
"""Why a predicate lacks something, and what it has instead."""

FUNCTIONS = {
    "clock": {
        "time": (
            *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns"),
            *("thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns"),
        ),
        "datetime.datetime": ("now", "utcnow", "today"),
        "datetime.date": ("today",),
    },
    "wait": {"time": ("sleep",)},
    "randomness": {"os": ("urandom", "getrandom")},
    "files": {
        "io": ("open", "open_code"),
        "os": ("open", "listdir", "scandir", "stat", "mkdir", "remove", "rename", "unlink", "getcwd"),
    },
    "processes": {"os": ("fork", "system", "execv", "execve", "posix_spawn"), "_thread": ("start_new_thread",)},
    "exit": {"sys": ("exit",), "os": ("_exit", "abort", "kill")},
}
"""Functions by what they would need, and by module or class."""

CLOCK_UNLESS_GIVEN = {"gmtime": 0, "localtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
"""Functions of `time` that read the clock where they are not given a time, by the position of that argument."""

MODULES = {"network": ("socket", "ssl", "http.client", "urllib.request"), "processes": ("subprocess", "multiprocessing")}
"""Modules of which nothing can be called, by what they would need."""

IMPORTED_BY_C = ("_strptime", "time")
"""Modules that functions in C import when they are called: a component has them from the start."""


class NotInSandbox(Exception):
    """Something that the sandbox lacks. The text says what to use."""

    def __init__(self, name: str, lack: str) -> None:
        super().__init__(f"{name}: {REASONS[lack]}")


def lacking(name: str, lack: str) -> Callable[..., Any]:
    """A function that raises."""

    def raises(*_: Any, **__: Any) -> Any:
        raise NotInSandbox(name, lack)

    return raises


def given(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    """A function of `time` that raises where it is not given a time; None stands for none."""

    def checks(*arguments: Any) -> Any:
        if len(arguments) <= position or arguments[position] is None:
            raise NotInSandbox(f"time.{function.__name__}", "clock")
        return function(*arguments)

    return checks


class Lines(io.TextIOBase):
    """A stream whose lines go into the log of the sidecar."""

    def __init__(self, level: str) -> None:
        self._level, self._text = level, ""

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        *lines, self._text = (self._text + text).split("\n")
        for line in lines:
            write(self._level, line)
        return len(text)

    def finish(self) -> None:
        """Writes a line that has no end."""
        if self._text:
            self.write("\n")


class _Handler(logging.Handler):
    """Writes records of `logging` into the log of the sidecar, without a time: the sidecar has one."""

    def emit(self, record: logging.LogRecord) -> None:
        levels = ((logging.ERROR, "error"), (logging.WARNING, "warn"), (logging.INFO, "info"))
        level = next((name for least, name in levels if record.levelno >= least), "debug")
        name = "" if record.name == "root" else f"{record.name}: "
        write(level, name + record.getMessage().replace("\n", " "))


@contextmanager
def output() -> Iterator[tuple[Lines, Lines]]:
    """Takes what `print` and `logging` write; gives the streams that stand for the standard ones."""
    root, handler, streams = logging.getLogger(), _Handler(), (Lines("info"), Lines("warn"))
    before, level, handlers = (sys.stdout, sys.stderr), root.level, root.handlers[:]
    clock, no_clock = vars(logging)["time"], SimpleNamespace(time=lambda: 0.0, time_ns=lambda: 0)
    sys.stdout, sys.stderr = streams  # type: ignore[assignment]
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG)
    vars(logging)["time"] = no_clock
    try:
        yield streams
    finally:
        for stream in streams:
            stream.finish()
        vars(logging)["time"] = clock
        root.setLevel(level)
        root.handlers[:] = handlers
        sys.stdout, sys.stderr = before


# ---- In a component


def enter() -> None:
    """Takes away what the author's files must not have when they are loaded: what they read of this machine would stay for ever."""
    for name in IMPORTED_BY_C:
        importlib.import_module(name)
    for lack in ("clock", "wait", "randomness", "processes", "exit"):
        _replace(lack)
    for name, position in CLOCK_UNLESS_GIVEN.items():
        setattr(time, name, given(getattr(time, name), position))
    for name, value in list(vars(random).items()):
        if getattr(value, "__self__", None) is vars(random)["_inst"]:
            setattr(random, name, lacking(f"random.{name}", "randomness"))
    seed = random.Random.seed

    def seeded(self: random.Random, a: Any = None, version: int = 2) -> None:
        if a is None:
            raise NotInSandbox("random.Random()", "randomness")
        seed(self, a, version)

    random.Random.seed = seeded  # type: ignore[method-assign]


_open: list[Any] = []
"""What lives as long as the component."""


def close() -> None:
    """Takes away what the author's files may have when they are loaded, and leads output into the log."""
    _replace("files")
    builtins.open = io.open
    # The runtime sets variables of this object, so it stays.
    type(os.environ).__getitem__ = lacking("os.environ", "environment")  # type: ignore[method-assign]
    # Before the importer that looks for files; what is part of the interpreter can be imported.
    sys.meta_path[:] = [importer for importer in sys.meta_path if getattr(importer, "__name__", "") != "PathFinder"]
    sys.meta_path.append(_NoImports())
    # The runtime would print it before it ends the call: the log has it already.
    sys.excepthook = lambda *_: None
    streams = output()
    streams.__enter__()
    _open.append(streams)


def finish() -> None:
    """Ends the lines of a call."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, Lines):
            stream.finish()


def _replace(lack: str) -> None:
    for owner, names in FUNCTIONS[lack].items():
        if owner.startswith("datetime."):
            kind = owner.removeprefix("datetime.")
            setattr(datetime, kind, _without(vars(datetime)[kind], owner, names, lack))
            continue
        module = importlib.import_module(owner)
        for name in names:
            if hasattr(module, name):
                setattr(module, name, lacking(f"{owner}.{name}", lack))


def _without(kind: type, owner: str, names: tuple[str, ...], lack: str) -> type:
    """A class that stands for another, without some of its functions."""

    class Meta(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, kind)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, kind)

    functions = {name: staticmethod(lacking(f"{owner}.{name}", lack)) for name in names}
    return Meta(kind.__name__, (kind,), {"__module__": kind.__module__, "__qualname__": kind.__qualname__, **functions})


class _NoImports:
    """The last importer: it says why there is none."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        raise ModuleNotFoundError(str(NotInSandbox(f"import {name}", "import")), name=name)
