"""Tests of a predicate or a scorer with plain pods and nodes, without wasm and without a sidecar. Start at `Cluster`.

The same code of this package runs as in a component, in a world that lacks what a component lacks; only the functions of the
host are those of this package.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from .._host import bind
from .._predicate import Predicate
from .._scorer import Scorer, Scores
from .._verdict import ByRow, Failure
from .empty import empty
from .facts import Node, Pod, node_functions, state_functions
from .limit import limited
from .row_sets import RowSets
from .running import SCHEDULER_NAMES, Running
from .sandbox import sandbox
from .scores import Scoring, scoring

_ALWAYS = ("row-sets", "log")
"""What every predicate has besides what it reads."""

_NONE: Mapping[str, Any] = {}


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
    """A pod, nodes, and pods on them: the fields are those of `cases.yaml`. Every function of the contract is answered from them."""

    pod: Pod = field(default_factory=Pod)
    nodes: Sequence[Node] = ()
    pods: Sequence[Pod] = ()
    """Pods on nodes: each has the `node_name` of its node."""
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The labels of Namespaces by name, besides those that pods give with `namespace_labels`."""
    scheduler_names: Sequence[str] = SCHEDULER_NAMES
    """The schedulers whose pods are not foreign."""
    device_class_resources: Sequence[str] = ()
    """Extended resources that DeviceClasses of the cluster provide."""
    now: int = 0
    """The moment of the call, in seconds since 1970."""
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The data of ConfigMaps by `namespace/name`."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Functions that take the place of those made from the fields, by interface: objects with the functions."""

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
        self._check_pods()
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

    def scores(self, scorer: Scorer, args: Mapping[str, Any] | None = None) -> Scoring:
        """The scores of the nodes.

        Raises where the arguments are refused, where the scorer reads an interface that it does not list, where the score of a node
        depends on the other nodes, and where a score is not from 0 to 100 once it is normalized.
        """
        if not isinstance(scorer, Scorer):
            raise TypeError(f"expected what @scorer or @node_scorer has made, not {scorer!r}")
        configured = scorer.configure(json.dumps(args or {}))
        self._check_pods()
        scores, lines, read = self._score(scorer, configured, self.nodes)
        if not any(name.startswith("cluster-") for name in scorer.reads):
            for row, node in enumerate(self.nodes):
                # The host may score any node again, alone: the raw score must be the same.
                alone, whole = _text(self._score(scorer, configured, [node])[0], 0), _text(scores, row)
                assert alone == whole, (
                    f"the score of the node {node.name} depends on the other nodes: {whole}; without them, {alone}"
                )
        names = [node.name for node in self.nodes]
        found = scoring(scorer.normalization, scores, names, [not node.infeasible for node in self.nodes])
        found.lines, found.read = lines, read
        return found

    def _check_pods(self) -> None:
        names = {node.name for node in self.nodes}
        for pod in self.pods:
            if pod.node_name not in names:
                raise ValueError(f"the pod {pod.name} of the cluster has the node_name {pod.node_name!r}: there is no such node")

    def functions(self, nodes: Sequence[Node], sets: RowSets, further: Mapping[str, Any] = _NONE) -> dict[str, list[Any]]:
        """The functions of each interface about some of the nodes: objects, of which the first that has a function answers.

        `further` are those of the kind of call.
        """
        running = Running(
            self.pod, nodes, self.pods, self.namespaces, self.scheduler_names, self.device_class_resources
        )
        sources = (
            self.facts,
            further,
            running.functions(sets),
            node_functions(nodes, self.pod, sets),
            self.pod.functions(),
            state_functions(self.now, self.config_maps),
            {"row-sets": sets},
            empty(len(nodes)),
        )
        names = dict.fromkeys(name for source in sources for name in source)
        return {name: [source[name] for source in sources if name in source] for name in names}

    def _run(self, predicate: Predicate, args: tuple[Any, ...], nodes: Sequence[Node]) -> Evaluation:
        sets = RowSets(len(nodes))
        verdict, lines, read = self._call(
            predicate.reads, self.functions(nodes, sets), lambda: predicate.run(args, len(nodes))
        )
        failures = sets.merged(_failures(verdict, len(nodes)))
        rejected = [
            f"{node.name}: {'; '.join(failure.reasons)}" for node, failure in zip(nodes, failures, strict=True) if failure
        ]
        return Evaluation(rejected, failures, lines, read)

    def _score(
        self, scorer: Scorer, args: tuple[Any, ...], nodes: Sequence[Node]
    ) -> tuple[Scores, list[tuple[str, str]], list[str]]:
        feasible = bytes(not node.infeasible for node in nodes)
        further = {"cluster-candidates": SimpleNamespace(feasible=lambda: feasible)}
        sets = RowSets(len(nodes), refused="score makes a row set: the host ends the call there")
        return self._call(scorer.reads, self.functions(nodes, sets, further), lambda: scorer.score_rows(args, len(nodes)))

    def _call(
        self, reads: Sequence[str], functions: dict[str, list[Any]], call: Callable[[], Any]
    ) -> tuple[Any, list[tuple[str, str]], list[str]]:
        """What a call returns, the lines written, and the interfaces that were read."""
        lines: list[tuple[str, str]] = []
        read: set[str] = set()
        functions["log"] = [SimpleNamespace(write=lambda level, text: lines.append((level, text)))]
        for name in reads:
            if name not in functions:
                raise TypeError(f"the contract has no interface {name}")
        before = bind({name: _Noted(name, functions[name], read) for name in (*reads, *_ALWAYS)})
        try:
            with limited(), sandbox():
                value = call()
        finally:
            bind(before)
        return value, lines, sorted(read.difference(_ALWAYS))


def _text(scores: Scores, row: int) -> str:
    """What a call says of a row."""
    return str(scores[row]) if isinstance(scores, list) else repr(scores)


class _Noted:
    """The functions of an interface; notes when one is taken."""

    def __init__(self, name: str, sources: Sequence[Any], read: set[str]) -> None:
        self._name, self._sources, self._read = name, sources, read

    def __getattr__(self, function: str) -> Any:
        self._read.add(self._name)
        for source in self._sources:
            if hasattr(source, function):
                return getattr(source, function)
        raise AttributeError(f"the interface {self._name} has no function {function}")


def _failures(verdict: ByRow | Failure | None, rows: int) -> list[Failure | None]:
    """The failure of each row, checked as the host checks it."""
    if verdict is None or isinstance(verdict, Failure):
        return [verdict] * rows
    assert len(verdict.codes) == rows, f"the verdict has {len(verdict.codes)} codes for {rows} rows"
    assert all(0 <= code <= len(verdict.failures) for code in verdict.codes), "the verdict has a code without a failure"
    return [verdict.failures[code - 1] if code else None for code in verdict.codes]
