"""Lines for operators, in the log of the sidecar: at most 10 a second, each of at most 1,024 bytes."""

from ._host import write


def debug(text: str) -> None:
    """For the author of the predicate; not shown by default."""
    write("debug", text)


def info(text: str) -> None:
    """What happens."""
    write("info", text)


def warn(text: str) -> None:
    """What somebody should look at."""
    write("warn", text)


def error(text: str) -> None:
    """What keeps the predicate from its work."""
    write("error", text)
