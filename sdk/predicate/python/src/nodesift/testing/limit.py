"""The time that a unit test gives a predicate. The sandbox ends a loop that does not end as well, but cannot tell its line."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LIMIT_S = 10.0
"""Seconds of processor time for one evaluation, which takes milliseconds: how busy a machine is does not matter."""

# Read here: what runs in the predicate cannot ask for it.
_FOLDER = os.getcwd() + os.sep
_SDK = os.path.dirname(os.path.dirname(__file__)) + os.sep


class Deadline(BaseException):
    """No answer in time. It is no `Exception`, so that the predicate does not catch it."""


def _end(signal_number: int, frame: FrameType | None) -> None:
    while frame is not None and frame.f_code.co_filename.startswith(_SDK):
        frame = frame.f_back
    place = ""
    if frame is not None:
        place = f", at {frame.f_code.co_filename.removeprefix(_FOLDER)}:{frame.f_lineno} in {frame.f_code.co_name}"
    raise Deadline(f"no answer within {LIMIT_S:g} s{place}")


@contextmanager
def limited() -> Iterator[None]:
    """Raises `Deadline` in the predicate after the limit, with its line. Without signals, as in a thread, there is no limit."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _end)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
