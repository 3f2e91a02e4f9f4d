"""What an author defines to score nodes (`scorer`, `node_scorer`), and how it is run. Start at `Scorer`."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from ._nodes import Node, Nodes
from ._pod import Pod
from ._predicate import Predicate, Verdict
from ._verdict import Failure

Normalization = Literal["none", "by-largest", "by-largest-reversed", "by-range", "by-distance"]
"""How the host makes scores from 0 to 100 of raw scores, over the nodes on which the pod fits.

A score outside of 0 to 100 after this is a fault of the scorer. `none`: raw scores are scores already. `by-largest`: 100 × raw /
the largest. `by-largest-reversed`: 100 minus that. `by-range`: 0 for the smallest raw score, 100 for the largest, and what is
between in proportion. `by-distance`: 100 × (smallest + largest - raw) / largest.
"""

NO_SCORE = -(2**63)
"""A raw score that stands for none: the node counts for no smallest or largest score, and its score is 0."""


class Skip:
    """The answer of a scorer that says nothing about the pod: it adds nothing on any node. There is one, `SKIP`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "SKIP"


SKIP = Skip()
"""The scorer says nothing about the pod: it adds nothing on any node."""


class Failed:
    """The answer of a scorer that cannot score the pod. Made by `failed`."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        if not isinstance(reason, str) or not reason:
            raise TypeError("failed(…) needs a text that says why the pod cannot be scored")
        self.reason = reason

    def __repr__(self) -> str:
        return f"failed: {self.reason}"


def failed(reason: str) -> Failed:
    """The pod cannot be scored, for this reason."""
    return Failed(reason)


Scores = list[int] | Skip | Failed
"""The result of a call: a raw score for each row, or what is said about the pod."""


class Scorer(Predicate):
    """A scorer: what `scorer` and `node_scorer` make of a function. It can be called as that function.

    It is a predicate as well, which rejects nothing unless it was given a `filter`.
    """

    def __init__(
        self,
        by_node: bool,
        score: Callable[..., Any],
        normalization: Normalization,
        filter: Callable[..., Any] | None,
        name: str,
        summary: str,
        reads: Sequence[str],
        args: type | None,
    ) -> None:
        known = get_args(Normalization)
        if normalization not in known:
            raise TypeError(f"a scorer needs a normalization, one of {', '.join(known)}")
        if isinstance(filter, Predicate):
            raise TypeError("filter: a function, not a predicate, which would be another module")
        super().__init__(by_node, filter or _fits, name, summary, reads, args)
        self.score = score
        self.normalization = normalization
        self._only_scores = filter is None

    def __call__(self, *given: Any) -> Any:
        return self.score(*given)

    def run(self, args: tuple[Any, ...], rows: int) -> Verdict:
        """The verdict for a call of this number of rows."""
        return None if self._only_scores else super().run(args, rows)

    def score_rows(self, args: tuple[Any, ...], rows: int) -> Scores:
        """The scores for a call of this number of rows."""
        return self._score_by_node(args, rows) if self.by_node else self._score_over_nodes(args, rows)

    def _score_over_nodes(self, args: tuple[Any, ...], rows: int) -> Scores:
        returned = self.score(Pod(), Nodes(rows), *args)
        if isinstance(returned, (Skip, Failed)):
            return returned
        if isinstance(returned, (str, bytes)) or not isinstance(returned, Sequence):
            raise TypeError(f"score returns a score for each row, SKIP or failed(…), not {returned!r}")
        if len(returned) != rows:
            raise TypeError(f"score returns {len(returned)} scores for {rows} rows")
        return [_raw(score) for score in returned]

    def _score_by_node(self, args: tuple[Any, ...], rows: int) -> Scores:
        pod, node = Pod(), Node(Nodes(rows))
        score, scores = self.score, []
        for row in range(rows):
            node._row = row
            returned = score(pod, node, *args)
            if isinstance(returned, (Skip, Failed)):
                if row > 0:
                    raise TypeError("SKIP and failed(…) are about the pod: return them for every node or for none")
                return returned
            scores.append(_raw(returned))
        return scores


def _fits(*_: Any) -> Failure | None:
    """The filter of what only scores."""
    return None


def _raw(score: Any) -> int:
    """A raw score, where it is one."""
    if type(score) is int and NO_SCORE <= score < -NO_SCORE:
        return score
    raise TypeError(f"a score is an integer of 64 bits or NO_SCORE, not {score!r}")


def scorer(
    *,
    name: str,
    summary: str,
    reads: Sequence[str],
    normalization: Normalization,
    args: type | None = None,
    filter: Callable[..., Verdict] | None = None,
) -> Callable[[Callable[..., Sequence[int] | Skip | Failed]], Scorer]:
    """Makes a scorer of a function of the pod and all nodes of a call: `score(pod, nodes, args)`.

    The function returns an integer for each row, the higher the better unless the normalization says otherwise, of which some can
    be `NO_SCORE`; or `SKIP`; or `failed(…)`. It makes no row sets. `filter` is the function of a predicate; without it no node is
    rejected. The other parameters are those of `predicate`.
    """
    return lambda score: Scorer(False, score, normalization, filter, name, summary, reads, args)


def node_scorer(
    *,
    name: str,
    summary: str,
    reads: Sequence[str],
    normalization: Normalization,
    args: type | None = None,
    filter: Callable[..., Failure | None] | None = None,
) -> Callable[[Callable[..., int | Skip | Failed]], Scorer]:
    """Makes a scorer of a function of the pod and one node: `score(pod, node, args)`.

    The function returns an integer, the higher the better unless the normalization says otherwise, or `NO_SCORE`. `SKIP` and
    `failed(…)` are about the pod: it returns them for every node or for none. It runs once per node. The parameters are those of
    `scorer`.
    """
    return lambda score: Scorer(True, score, normalization, filter, name, summary, reads, args)
