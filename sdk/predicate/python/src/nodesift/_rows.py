"""Sets of rows that the host holds: an operation costs one call, however many nodes there are."""

from ._host import facts
from ._verdict import Failure


class RowSet:
    """A set of rows of the running call. It is of no use after the call."""

    __slots__ = ("_handle",)

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __and__(self, other: "RowSet") -> "RowSet":
        """The rows in both."""
        return RowSet(facts("row-sets").and_(self._handle, other._handle))

    def __or__(self, other: "RowSet") -> "RowSet":
        """The rows in either."""
        return RowSet(facts("row-sets").or_(self._handle, other._handle))

    def __invert__(self) -> "RowSet":
        """The other rows."""
        return RowSet(facts("row-sets").not_(self._handle))

    def count(self) -> int:
        """The number of rows. The verdict for a row must not depend on it."""
        return facts("row-sets").count(self._handle)

    def __bool__(self) -> bool:
        raise TypeError("a row set is neither true nor false; combine sets with &, | and ~")

    def _reject(self, failure: Failure) -> None:
        if not isinstance(failure, Failure):
            raise TypeError(f"rows are rejected with unresolvable(…), unschedulable(…) or error(…), not {failure!r}")
        facts("row-sets").reject(self._handle, failure)
