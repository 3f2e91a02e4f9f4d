"""Row sets as the host has them: handles of sets, and the first failure of each rejected row."""

from collections.abc import Callable, Sequence

from .._verdict import Failure


class RowSets:
    """The functions of the interface `row-sets`."""

    def __init__(self, rows: int, refused: str | None = None) -> None:
        """With the text `refused`, no set can be made: that is what is raised."""
        self._refused = refused
        self._rows = range(rows)
        self._sets: list[frozenset[int]] = []
        self._failures: list[Failure | None] = [None] * rows

    def of(self, holds: Callable[[int], bool]) -> int:
        """The handle of the rows for which this holds."""
        return self._add(frozenset(row for row in self._rows if holds(row)))

    def where(self, flags: Sequence[bool]) -> int:
        """The handle of the rows whose flag is set."""
        return self.of(lambda row: flags[row])

    def _add(self, rows: frozenset[int]) -> int:
        if self._refused is not None:
            raise RuntimeError(self._refused)
        self._sets.append(rows)
        return len(self._sets) - 1

    def all(self) -> int:
        return self.of(lambda _: True)

    def and_(self, a: int, b: int) -> int:
        return self._add(self._sets[a] & self._sets[b])

    def or_(self, a: int, b: int) -> int:
        return self._add(self._sets[a] | self._sets[b])

    def not_(self, a: int) -> int:
        return self._add(frozenset(self._rows) - self._sets[a])

    def count(self, a: int) -> int:
        return len(self._sets[a])

    def reject(self, a: int, failure: Failure) -> None:
        for row in self._sets[a]:
            self._failures[row] = self._failures[row] or failure

    def merged(self, failures: list[Failure | None]) -> list[Failure | None]:
        """The failures of the rows that were rejected here, or else those of the verdict."""
        return [mine or other for mine, other in zip(self._failures, failures, strict=True)]
