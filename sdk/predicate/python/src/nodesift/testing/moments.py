"""Moments of nodes in tests. Made from the contract by `make contract`; not to be edited."""

from dataclasses import dataclass

NO_TIME = -(2**63)
"""Stands for a moment that is not there."""

MOMENTS = (
    ("node-age", "created"),
)
"""Interface and function of each."""


@dataclass(kw_only=True)
class Moments:
    """The moments of a node."""

    created: int = NO_TIME
    """`created` of `node-age`, in seconds since 1970."""
