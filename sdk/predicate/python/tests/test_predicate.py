from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from nodesift import (
    Failure,
    Node,
    Nodes,
    NotListed,
    Owner,
    Pod,
    Predicate,
    Taint,
    Toleration,
    by_row,
    config_entry,
    error,
    log,
    node_predicate,
    passed,
    predicate,
    unresolvable,
    unschedulable,
)
from nodesift._limits import FAILURES
from nodesift._verdict import Codes
from nodesift.testing import Cluster
from nodesift.testing import Node as N
from nodesift.testing import Pod as P

NODES = [
    N("a", labels={"zone": "x", "disk": "ssd"}, allocatable={"cpu": 4000}, requested={"cpu": 1000}),
    N("b", labels={"zone": "y"}, allocatable={"cpu": 4000}, requested={"cpu": 3900}, unschedulable=True),
    N("c", taints=[Taint("gpu", "", "NoSchedule")], annotations={"sets": "p,q"}),
]


def by_nodes(reads: list[str], filter: Callable[..., Any]) -> Predicate:
    return predicate(name="Test", summary="tests", reads=reads)(filter)


def by_node(reads: list[str], filter: Callable[..., Any]) -> Predicate:
    return node_predicate(name="Test", summary="tests", reads=reads)(filter)


def test_a_function_of_one_node_rejects_the_nodes_for_which_it_returns_a_failure() -> None:
    small = unschedulable("small")

    def fits(pod: Pod, node: Node) -> Failure | None:
        return small if node.free("cpu") < pod.request("cpu") else None

    done = Cluster(P(requests={"cpu": 500}), NODES).evaluate(by_node(["pod-resources", "node-resources"], fits))
    assert done.rejected == ["b: small", "c: small"]
    assert done.failures == [None, small, small]
    assert done.read == ["node-resources", "pod-resources"]


def test_row_sets_and_columns_say_the_same() -> None:
    reads = ["node-labels", "node-annotations", "node-resources", "node-taints"]

    def by_sets(pod: Pod, nodes: Nodes) -> None:
        nodes.reject(nodes.label_in("zone", ["y", "z"]), unresolvable("zone"))
        nodes.reject(~nodes.label_exists("disk") & ~nodes.free_at_least("cpu", 1), unschedulable("disk or cpu"))
        nodes.reject((nodes.untolerated() | nodes.unschedulable()) & nodes.all(), error("never: rejected before"))
        assert (nodes.annotation_in("sets", ["p,q"]) | nodes.annotation_exists("sets")).count() <= 1

    def by_columns(pod: Pod, nodes: Nodes) -> Any:
        zones, disks, free = nodes.labels("zone").values, nodes.labels("disk").codes, nodes.free("cpu")
        codes = [
            1 if zone in ("y", "z") else 2 if not disk and cpu < 1 else 0
            for zone, disk, cpu in zip(zones, disks, free, strict=True)
        ]
        return by_row(codes, [unresolvable("zone"), unschedulable("disk or cpu")])

    for form in (by_sets, by_columns):
        assert Cluster(nodes=NODES).rejected(by_nodes(reads, form)) == ["b: zone", "c: disk or cpu"]


def test_rows_are_rejected_by_number_and_the_first_failure_stays() -> None:
    def first(pod: Pod, nodes: Nodes) -> None:
        row = nodes.row("b")
        if row is not None:
            nodes.reject(row, unresolvable("first"))
        nodes.reject(range(nodes.count), unresolvable("second"))

    def both(pod: Pod, nodes: Nodes) -> None:
        nodes.reject(nodes.all(), unresolvable("x"))
        nodes.reject(0, unresolvable("x"))

    reads = ["node-identity"]
    assert Cluster(nodes=NODES).rejected(by_nodes(reads, first)) == ["a: second", "b: first", "c: second"]
    with pytest.raises(IndexError, match="there is no row 3"):
        Cluster(nodes=NODES).rejected(by_nodes(reads, lambda pod, nodes: nodes.reject(3, unresolvable("x"))))
    with pytest.raises(TypeError, match="not both"):
        Cluster(nodes=NODES).rejected(by_nodes(reads, both))


def test_a_row_set_is_no_condition() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        Cluster(nodes=NODES).rejected(by_nodes([], lambda pod, nodes: nodes.all() and None))


def test_a_returned_failure_is_for_every_node() -> None:
    none = by_nodes(["pod-labels"], lambda pod, nodes: unresolvable(f"in {pod.namespace}"))
    assert Cluster(nodes=NODES).rejected(none) == ["a: in default", "b: in default", "c: in default"]


def test_a_read_that_is_not_listed_is_refused_and_named() -> None:
    with pytest.raises(NotListed, match='the taints of a node reads the interface node-taints: add "node-taints"'):
        Cluster(nodes=NODES).rejected(by_node([], lambda pod, node: node.taints and None))
    with pytest.raises(NotListed, match="pod.label reads the interface pod-labels"):
        Cluster(nodes=NODES).rejected(by_node(["node-taints"], lambda pod, node: pod.label("a")))
    with pytest.raises(TypeError, match="the contract has no interface no-such"):
        Cluster(nodes=NODES).rejected(by_node(["no-such"], lambda pod, node: None))


def test_a_verdict_that_depends_on_other_nodes_is_refused() -> None:
    first = by_nodes(["node-labels"], lambda pod, nodes: nodes.reject(0, unresolvable("first")))
    with pytest.raises(AssertionError, match="the verdict for the node b depends on the other nodes"):
        Cluster(nodes=NODES).rejected(first)


def test_facts_of_the_pod_and_of_a_node_are_as_kubernetes_writes_them() -> None:
    seen: list[Any] = []

    def look(pod: Pod, node: Node) -> None:
        seen[:] = [pod.namespace, pod.node_name, pod.node_selector, pod.tolerations, pod.annotation("of"), pod.label("none")]
        seen.append((node.name, node.taints, node.unschedulable, node.annotation("sets"), node.label("none")))

    reads = ["pod-labels", "pod-annotations", "pod-placement", "pod-tolerations"]
    reads += ["node-identity", "node-taints", "node-annotations", "node-labels"]
    tolerations = [Toleration("gpu", "Exists", "", None)]
    pod = P(node_selector={"disk": "ssd"}, tolerations=tolerations, annotations={"of": "x"})
    Cluster(pod, [NODES[2]]).rejected(by_node(reads, look))
    about_node = ("c", [Taint("gpu", "", "NoSchedule")], False, "p,q", None)
    assert seen == ["default", None, {"disk": "ssd"}, tolerations, "x", None, about_node]


def test_facts_that_came_with_later_versions_of_the_contract() -> None:
    seen: list[Any] = []

    def look(pod: Pod, node: Node) -> None:
        owner = pod.controller
        seen.append((pod.namespace_label("tier"), pod.priority, pod.runtime_class, pod.images, owner and owner.kind))
        conditions = node.condition("Ready"), node.condition("None")
        seen.append((*conditions, node.info("architecture"), node.has_image("app:v1"), node.created))

    reads = ["namespace-labels", "pod-spec", "pod-owner", "node-conditions", "node-info", "node-images", "node-age"]
    owner = Owner("batch/v1", "Job", "nightly")
    pod = P(namespace_labels={"tier": "gold"}, priority=7, images=["b", "a", "b"], controller=owner)
    node = N("a", conditions={"Ready": "Unknown"}, info={"architecture": "arm64"}, images=["app:v1"], created=5)
    assert Cluster(pod, [node]).evaluate(by_node(reads, look)).read == sorted(reads)
    assert seen[:2] == [("gold", 7, None, ["a", "b"], "Job"), ("Unknown", None, "arm64", True, 5)]


def test_a_fact_is_read_once_a_call() -> None:
    calls: list[str] = []
    facts = {"pod-labels": SimpleNamespace(label=lambda key: calls.append(key))}
    Cluster(nodes=NODES, facts=facts).rejected(by_node(["pod-labels"], lambda pod, node: pod.label("a")))
    # Once for all nodes, and once for each alone.
    assert len(calls) == 1 + len(NODES)


def test_lines_are_kept() -> None:
    assert Cluster().evaluate(by_nodes([], lambda pod, nodes: log.warn("odd"))).lines == [("warn", "odd")]


def test_a_definition_without_what_it_needs_is_refused() -> None:
    with pytest.raises(TypeError, match="needs a name"):
        predicate(name="", summary="x", reads=[])(lambda pod, nodes: None)
    with pytest.raises(TypeError, match="not one text"):
        predicate(name="x", summary="x", reads="pod-labels")(lambda pod, nodes: None)
    with pytest.raises(TypeError, match="needs a reason"):
        unresolvable()
    with pytest.raises(TypeError, match="it returns None"):
        Cluster(nodes=NODES).rejected(by_nodes([], lambda pod, nodes: True))
    with pytest.raises(TypeError, match="a node is rejected with unresolvable"):
        Cluster(nodes=NODES).rejected(by_node([], lambda pod, node: "no"))
    with pytest.raises(TypeError, match="a list of texts, not one text"):
        Cluster(nodes=NODES).rejected(by_nodes(["node-labels"], lambda pod, nodes: nodes.label_in("zone", "x")))
    with pytest.raises(ValueError, match="takes no arguments"):
        Cluster(nodes=NODES).rejected(by_nodes([], lambda pod, nodes: None), {"a": 1})


def test_a_verdict_has_no_more_failures_than_the_host_takes_and_every_rejected_row_stays_rejected() -> None:
    codes = Codes(FAILURES + 10)
    for row in range(FAILURES + 10):
        codes.reject(row, unresolvable(f"reason {row}"))
    verdict = codes.verdict()
    assert verdict is not None and len(verdict.failures) == FAILURES + 1 and all(verdict.codes)
    assert "left out" in verdict.failures[-1].reasons[0]
    equal = Codes(2)
    equal.reject(0, unresolvable("same"))
    equal.reject(1, unresolvable("same"))
    assert equal.verdict().failures == [unresolvable("same")]


def test_moments_and_entries_of_config_maps_are_those_of_the_call() -> None:
    def filter(pod: Pod, nodes: Nodes) -> Failure | None:
        return unresolvable(f"closed: {config_entry('ops/hours', 'why')}") if passed(100) else None

    closed = by_nodes(["time", "config-maps"], filter)
    assert Cluster(nodes=[N("a")], now=99).rejected(closed) == []
    assert Cluster(nodes=[N("a")], now=100).rejected(closed) == ["a: closed: None"]
    maps = {"ops/hours": {"why": "night"}}
    assert Cluster(nodes=[N("a")], now=100, config_maps=maps).rejected(closed) == ["a: closed: night"]
    with pytest.raises(NotListed, match="reads the interface time"):
        Cluster(nodes=NODES).rejected(by_nodes([], lambda pod, nodes: passed(1) and None))
