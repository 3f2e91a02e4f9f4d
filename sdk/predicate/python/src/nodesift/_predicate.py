"""What an author defines (`predicate`, `node_predicate`), and how it is configured and run.

The component and the tests run it by the same functions.
"""

from collections.abc import Callable, Sequence
from typing import Any

from . import args as arguments
from ._nodes import Node, Nodes
from ._pod import Pod
from ._verdict import ByRow, Codes, Failure

Verdict = ByRow | Failure | None
"""None: every row fits, but for rejected row sets. A failure: the pod fits no node, whatever the nodes are."""


class Predicate:
    """A predicate: what `predicate` and `node_predicate` make of a function. It can be called as that function."""

    def __init__(
        self, by_node: bool, filter: Callable[..., Any], name: str, summary: str, reads: Sequence[str], args: type | None
    ) -> None:
        for field, value in (("name", name), ("summary", summary)):
            if not isinstance(value, str) or not value:
                raise TypeError(f"a predicate needs a {field}, a text")
        if isinstance(reads, str):
            raise TypeError("reads: a list of interfaces, not one text")
        self.by_node = by_node
        self.filter = filter
        self.name = name
        self.summary = summary
        self.reads = tuple(reads)
        self._parse = arguments.no_arguments if args is None else arguments.parser(args)
        self._takes_arguments = args is not None

    def __call__(self, *given: Any) -> Any:
        return self.filter(*given)

    def configure(self, text: str) -> tuple[Any, ...]:
        """The arguments in a JSON text, as `run` takes them. Raises `ArgumentError` where they are not valid."""
        parsed = self._parse(text)
        return (parsed,) if self._takes_arguments else ()

    def run(self, args: tuple[Any, ...], rows: int) -> Verdict:
        """The verdict for a call of this number of rows."""
        return self._run_by_node(args, rows) if self.by_node else self._run_over_nodes(args, rows)

    def _run_over_nodes(self, args: tuple[Any, ...], rows: int) -> Verdict:
        nodes = Nodes(rows)
        returned = self.filter(Pod(), nodes, *args)
        if returned is None:
            return nodes._verdict()
        if isinstance(returned, (Failure, ByRow)):
            return returned
        raise TypeError(f"it returns None, a failure for a pod that fits no node, or by_row(…), not {returned!r}")

    def _run_by_node(self, args: tuple[Any, ...], rows: int) -> Verdict:
        pod, node, codes = Pod(), Node(Nodes(rows)), Codes(rows)
        filter, reject = self.filter, codes.reject
        for row in range(rows):
            node._row = row
            failure = filter(pod, node, *args)
            if failure is not None:
                reject(row, failure)
        return codes.verdict()


def predicate(
    *, name: str, summary: str, reads: Sequence[str], args: type | None = None
) -> Callable[[Callable[..., Verdict]], Predicate]:
    """Makes a predicate of a function of the pod and all nodes of a call: `filter(pod, nodes, args)`.

    The function rejects nodes with `nodes.reject` and returns nothing; or it returns `by_row(…)`; or a failure where the pod
    fits no node, whatever the nodes are. `reads` are the interfaces that it reads: they are the imports of the component, so
    a policy allows no more than these. `args` is a dataclass, see `nodesift.args`; without it the function takes no `args`.
    """
    return lambda filter: Predicate(False, filter, name, summary, reads, args)


def node_predicate(
    *, name: str, summary: str, reads: Sequence[str], args: type | None = None
) -> Callable[[Callable[..., Failure | None]], Predicate]:
    """Makes a predicate of a function of the pod and one node: `filter(pod, node, args)`.

    The function returns why the node cannot run the pod, or nothing where it can. It runs once per node, which takes some
    400 ns in the component. The parameters are those of `predicate`.
    """
    return lambda filter: Predicate(True, filter, name, summary, reads, args)


def by_row(codes: Sequence[int], failures: Sequence[Failure]) -> ByRow:
    """A verdict by row: `codes` has an entry per row, 0 where the node fits, k where it fails with `failures[k - 1]`."""
    return ByRow(codes, failures)
