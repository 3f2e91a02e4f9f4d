"""Moments of nodes. Made from the contract by `make contract`; not to be edited."""

from typing import Any

from ._host import facts


class NodesMoments:
    """Columns of moments, of `Nodes`."""

    __slots__ = ()
    _column: Any

    @property
    def created(self) -> list[int]:
        """`created` of nodes, in seconds since 1970; -(2 ** 63) without one. Reads `node-age`."""
        return self._column("created", lambda: facts("node-age", "nodes.created").created())


class NodeMoments:
    """Moments of one node, of `Node`."""

    __slots__ = ()
    _nodes: Any
    _row: int

    @property
    def created(self) -> int:
        """`created` of the node, in seconds since 1970; -(2 ** 63) without one. Reads `node-age`."""
        return self._nodes.created[self._row]
