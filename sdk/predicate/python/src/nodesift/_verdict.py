"""Failures and the verdict by row. Start at `Codes`."""

from collections.abc import Sequence
from enum import Enum

from ._limits import FAILURES, REASON_BYTES, REASON_ENTRY_BYTES, REASON_LENGTH


class Status(Enum):
    """The status code of a rejection, as in kube-scheduler's framework."""

    UNSCHEDULABLE = 0
    UNSCHEDULABLE_AND_UNRESOLVABLE = 1
    ERROR = 2


class Failure:
    """Why a node cannot run the pod. Made by `unresolvable`, `unschedulable` and `error`."""

    __slots__ = ("reasons", "status")

    status: Status
    reasons: tuple[str, ...]

    def __init__(self, status: Status, reasons: Sequence[str]) -> None:
        if not reasons or any(not isinstance(reason, str) or not reason for reason in reasons):
            raise TypeError("a failure needs a reason, a text that is not empty")
        self.status = status
        self.reasons = tuple(reason[:REASON_LENGTH] for reason in reasons)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failure) and (self.status, self.reasons) == (other.status, other.reasons)

    def __hash__(self) -> int:
        return hash((self.status, self.reasons))

    def __repr__(self) -> str:
        return f"{self.status.name}: {'; '.join(self.reasons)}"


def unresolvable(*reasons: str) -> Failure:
    """A rejection that preempting pods does not resolve.

    Nodes are grouped by reasons, so a reason must not contain the name of a node.
    """
    return Failure(Status.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def unschedulable(*reasons: str) -> Failure:
    """A rejection that preempting pods may resolve."""
    return Failure(Status.UNSCHEDULABLE, reasons)


def error(*reasons: str) -> Failure:
    """The node cannot be evaluated because an object that is needed is missing or invalid. The reason names the object."""
    return Failure(Status.ERROR, reasons)


class ByRow:
    """A verdict with a code per row: 0 fits, k fails with `failures[k - 1]`."""

    __slots__ = ("codes", "failures")

    def __init__(self, codes: Sequence[int], failures: Sequence[Failure]) -> None:
        self.codes = codes
        self.failures = failures


_LEFT_OUT = "reasons left out: the verdict has too many different ones"


class Codes:
    """Makes a verdict by row. Rows fit unless they are rejected; equal failures have one code."""

    __slots__ = ("_by_object", "_codes", "_bytes", "codes", "failures")

    def __init__(self, rows: int) -> None:
        self.codes = [0] * rows
        self.failures: list[Failure] = []
        # By identity first: most predicates make their failures once. The failure is kept, so that its identity stays its own.
        self._by_object: dict[int, tuple[int, Failure]] = {}
        self._codes: dict[Failure, int] = {}
        self._bytes = 0

    def reject(self, row: int, failure: Failure) -> None:
        """Rejects a row. A row that was rejected before keeps its failure."""
        if self.codes[row]:
            return
        known = self._by_object.get(id(failure))
        if known is None:
            known = self._by_object[id(failure)] = (self._intern(failure), failure)
        self.codes[row] = known[0]

    def _intern(self, failure: Failure) -> int:
        if not isinstance(failure, Failure):
            raise TypeError(f"a node is rejected with unresolvable(…), unschedulable(…) or error(…), not {failure!r}")
        code = self._codes.get(failure)
        if code is not None:
            return code
        cost = sum(len(reason.encode()) + REASON_ENTRY_BYTES for reason in failure.reasons)
        is_full = len(self.failures) >= FAILURES or self._bytes + cost > REASON_BYTES
        if is_full and failure.reasons != (_LEFT_OUT,):
            return self._intern(Failure(failure.status, (_LEFT_OUT,)))
        self._bytes += cost
        self.failures.append(failure)
        self._codes[failure] = len(self.failures)
        return len(self.failures)

    def verdict(self) -> ByRow | None:
        """The verdict; none where every row fits."""
        return ByRow(self.codes, self.failures) if self.failures else None
