"""Tests of a predicate with plain pods and nodes, without wasm and without a sidecar. Start at `Cluster`.

The same code of this package runs as in a component; only the functions of the host are those of this package.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from .._host import bind
from .._predicate import Predicate
from .._verdict import ByRow, Failure
from .facts import Node, Pod, node_functions, state_functions
from .row_sets import RowSets

__all__ = ["Cluster", "Evaluation", "Node", "Pod"]

_ALWAYS = ("row-sets", "log")
"""What every predicate has besides what it reads."""


@dataclass
class Evaluation:
    """What a predicate has done."""

    rejected: list[str]
    """The rejected nodes in their order, each as `name: reason; reason`."""
    failures: list[Failure | None]
    """The failure of each node."""
    lines: list[tuple[str, str]]
    """Level and text of what was written with `log`."""
    read: list[str]
    """The interfaces that were read."""


@dataclass
class Cluster:
    """A pod and nodes.

    `facts` are functions of interfaces that plain pods and nodes do not give, by interface: objects with the functions.
    """

    pod: Pod = field(default_factory=Pod)
    nodes: Sequence[Node] = ()
    now: int = 0
    """The moment of the call, in seconds since 1970."""
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The data of ConfigMaps by `namespace/name`."""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def rejected(self, predicate: Predicate, args: Mapping[str, Any] | None = None) -> list[str]:
        """The rejected nodes in their order, each as `name: reason; reason`.

        Raises where the arguments are refused, where the predicate reads an interface that it does not list, and where the
        verdict for a node depends on the other nodes.
        """
        return self.evaluate(predicate, args).rejected

    def evaluate(self, predicate: Predicate, args: Mapping[str, Any] | None = None) -> Evaluation:
        """The same, with failures and lines."""
        if not isinstance(predicate, Predicate):
            raise TypeError(f"expected what @predicate or @node_predicate has made, not {predicate!r}")
        configured = predicate.configure(json.dumps(args or {}))
        done = self._run(predicate, configured, self.nodes)
        if not any(name.startswith("cluster-") for name in predicate.reads):
            for node, failure in zip(self.nodes, done.failures, strict=True):
                # The host may evaluate any node again, alone: the verdict must be the same.
                alone = self._run(predicate, configured, [node]).failures[0]
                assert alone == failure, (
                    f"the verdict for the node {node.name} depends on the other nodes: "
                    f"{failure or 'it fits'}; without them, {alone or 'it fits'}"
                )
        return done

    def _run(self, predicate: Predicate, args: tuple[Any, ...], nodes: Sequence[Node]) -> Evaluation:
        lines: list[tuple[str, str]] = []
        read: set[str] = set()
        sets = RowSets(len(nodes))
        available = {
            **self.pod.functions(),
            **node_functions(nodes, self.pod, sets),
            **state_functions(self.now, self.config_maps),
            "row-sets": sets,
            **self.facts,
            "log": SimpleNamespace(write=lambda level, text: lines.append((level, text))),
        }
        for name in predicate.reads:
            if name not in available:
                raise TypeError(f"the test has no functions of the interface {name}: give them as facts={{{name!r}: …}}")
        before = bind({name: _Noted(name, available[name], read) for name in (*predicate.reads, *_ALWAYS)})
        try:
            failures = sets.merged(_failures(predicate.run(args, len(nodes)), len(nodes)))
        finally:
            bind(before)
        rejected = [
            f"{node.name}: {'; '.join(failure.reasons)}" for node, failure in zip(nodes, failures, strict=True) if failure
        ]
        return Evaluation(rejected, failures, lines, sorted(read.difference(_ALWAYS)))


class _Noted:
    """The functions of an interface; notes when one is taken."""

    def __init__(self, name: str, functions: Any, read: set[str]) -> None:
        self._name, self._functions, self._read = name, functions, read

    def __getattr__(self, function: str) -> Any:
        self._read.add(self._name)
        return getattr(self._functions, function)


def _failures(verdict: ByRow | Failure | None, rows: int) -> list[Failure | None]:
    """The failure of each row, checked as the host checks it."""
    if verdict is None or isinstance(verdict, Failure):
        return [verdict] * rows
    assert len(verdict.codes) == rows, f"the verdict has {len(verdict.codes)} codes for {rows} rows"
    assert all(0 <= code <= len(verdict.failures) for code in verdict.codes), "the verdict has a code without a failure"
    return [verdict.failures[code - 1] if code else None for code in verdict.codes]
