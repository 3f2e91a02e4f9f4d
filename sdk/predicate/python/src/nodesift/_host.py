"""The functions of the contract that a predicate can call, by interface.

In a component they are the host's (`guest`), in tests those of `testing`. Nothing else in this package knows where facts come
from.
"""

from collections.abc import Mapping
from typing import Any

_bound: Mapping[str, Any] = {}


class NotListed(Exception):
    """A fact of an interface that the predicate does not list in `reads`."""


def bind(functions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Makes these the functions that facts come from, and returns those before."""
    global _bound
    before, _bound = _bound, functions
    return before


def facts(name: str, what: str | None = None) -> Any:
    """The functions of an interface, for example `facts("cluster-pods").matching`: named in snake_case, as the contract has them.

    Raises `NotListed` where the predicate does not list the interface in `reads`; `what` is what was called.
    """
    try:
        return _bound[name]
    except KeyError:
        called = what or f'facts("{name}")'
        raise NotListed(f'{called} reads the interface {name}: add "{name}" to the predicate\'s `reads`') from None


def write(level: str, text: str) -> None:
    """Writes a line in the log of the sidecar, where there is one."""
    log = _bound.get("log")
    if log is not None:
        log.write(level, text)
