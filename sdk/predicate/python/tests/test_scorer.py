"""Scorers over columns and per node, and the scores that the host makes of what they return."""

from collections.abc import Callable
from typing import Any

import pytest
from nodesift import (
    NO_SCORE,
    SKIP,
    ArgumentError,
    Failure,
    Node,
    Nodes,
    Normalization,
    Pod,
    Scorer,
    failed,
    log,
    node_predicate,
    node_scorer,
    scorer,
    unresolvable,
)
from nodesift.testing import Cluster, Scoring
from nodesift.testing import Node as N
from nodesift.testing import Pod as P
from nodesift.testing.scores import normalized

NODES = [
    N("a", labels={"tier": "30"}, allocatable={"cpu": 4000}),
    N("b", labels={"tier": "60"}, allocatable={"cpu": 1000}, infeasible=True),
    N("c", allocatable={"cpu": 2000}),
]
CLUSTER = Cluster(nodes=NODES)


def over_nodes(reads: list[str], score: Callable[..., Any], normalization: Normalization = "none") -> Scorer:
    return scorer(name="Test", summary="tests", reads=reads, normalization=normalization)(score)


def by_node(reads: list[str], score: Callable[..., Any], normalization: Normalization = "none") -> Scorer:
    return node_scorer(name="Test", summary="tests", reads=reads, normalization=normalization)(score)


def tier(pod: Pod, node: Node) -> int:
    return int(node.label("tier") or NO_SCORE)


def test_a_function_of_one_node_scores_each_and_one_over_columns_says_the_same() -> None:
    def tiers(pod: Pod, nodes: Nodes) -> list[int]:
        return [NO_SCORE if text is None else int(text) for text in nodes.labels("tier").values]

    expected = Scoring("Scored", None, {"a": 30, "b": 60}, {"a": 30, "c": 0}, [], ["node-labels"])
    assert CLUSTER.scores(by_node(["node-labels"], tier)) == expected
    assert CLUSTER.scores(over_nodes(["node-labels"], tiers)) == expected


def test_raw_scores_are_normalized_over_the_nodes_on_which_the_pod_fits() -> None:
    def cpu(normalization: Normalization) -> dict[str, int]:
        of_node = by_node(["node-resources"], lambda pod, node: node.allocatable("cpu"), normalization)
        return CLUSTER.scores(of_node).normalized

    assert cpu("by-largest") == {"a": 100, "c": 50}
    assert cpu("by-largest-reversed") == {"a": 0, "c": 50}
    assert cpu("by-range") == {"a": 100, "c": 0}
    assert cpu("by-distance") == {"a": 50, "c": 100}
    with pytest.raises(ValueError, match="the node a has the score 4000 by the normalization none: the host takes 0 to 100"):
        cpu("none")


@pytest.mark.parametrize(
    ("normalization", "raw", "expected"),
    [
        ("none", [0, 100, 7, NO_SCORE], [0, 100, 7, 0]),
        ("by-largest", [0, 1, 3], [0, 33, 100]),
        ("by-largest", [0, 0], [0, 0]),
        ("by-largest", [-3, -1], [-3, -1]),
        # 100 times the maximum wraps to -100.
        ("by-largest", [2**63 - 1], [0]),
        ("by-largest", [2**63 - 1, -(2**63) + 1], [0, 0]),
        ("by-largest-reversed", [0, 1, 3], [100, 67, 0]),
        ("by-largest-reversed", [0, 0, NO_SCORE], [100, 100, 0]),
        ("by-range", [0, 29, 57, 58, 100], [0, 28, 56, 57, 100]),
        ("by-range", [-50, 0, 50], [0, 50, 100]),
        ("by-range", [7, 7], [0, 0]),
        ("by-distance", [0, 1, 4], [100, 75, 0]),
        ("by-distance", [2, 4, 3], [100, 50, 75]),
        ("by-distance", [0, 0], [100, 100]),
    ],
)
def test_normalizations_compute_as_the_host_does(normalization: Normalization, raw: list[int], expected: list[int]) -> None:
    assert normalized(normalization, raw) == expected
    assert normalized(normalization, [NO_SCORE, NO_SCORE]) == [0, 0]
    assert normalized(normalization, []) == []


@pytest.mark.parametrize("form", [over_nodes, by_node])
def test_a_scorer_has_nothing_to_say_about_a_pod_or_cannot_score_it(form: Callable[..., Scorer]) -> None:
    assert CLUSTER.scores(form([], lambda pod, _: SKIP)) == Scoring("Skipped")
    assert CLUSTER.scores(form([], lambda pod, _: failed("no tier"))) == Scoring("Failed", "no tier")


def test_what_is_about_the_pod_is_said_for_every_node() -> None:
    some = by_node(["node-labels"], lambda pod, node: 1 if node.label("tier") else SKIP)
    with pytest.raises(TypeError, match="are about the pod"):
        CLUSTER.scores(some)


def test_what_only_scores_rejects_nothing_and_a_scorer_can_have_a_filter() -> None:
    def has_tier(pod: Pod, node: Node) -> Failure | None:
        return None if node.label("tier") else unresolvable("no tier")

    assert CLUSTER.rejected(by_node(["node-labels"], tier)) == []
    define = node_scorer(name="Test", summary="tests", reads=["node-labels"], normalization="none", filter=has_tier)
    assert CLUSTER.rejected(define(tier)) == ["c: no tier"]
    assert CLUSTER.scores(define(tier)).normalized == {"a": 30, "c": 0}
    assert define(lambda pod, node: 7)(None, None) == 7


def test_a_score_that_depends_on_other_nodes_is_refused_unless_it_reads_what_is_of_the_cluster() -> None:
    def rank(pod: Pod, nodes: Nodes) -> range:
        return range(nodes.count)

    with pytest.raises(AssertionError, match="the score of the node b depends on the other nodes: 1; without them, 0"):
        CLUSTER.scores(over_nodes([], rank))
    assert CLUSTER.scores(over_nodes(["cluster-candidates"], rank)).raw == {"a": 0, "b": 1, "c": 2}


def test_candidates_are_the_nodes_on_which_the_pod_fits() -> None:
    seen: list[int] = []

    def fits(pod: Pod, nodes: Nodes) -> None:
        seen.extend(nodes.feasible)

    define = scorer(name="Test", summary="tests", reads=["cluster-candidates"], normalization="none", filter=fits)
    fitting = define(lambda pod, nodes: list(nodes.feasible))
    assert CLUSTER.scores(fitting).raw == {"a": 1, "b": 0, "c": 1}
    assert CLUSTER.rejected(fitting) == [] and seen == [1, 1, 1]


def test_score_makes_no_row_sets() -> None:
    with pytest.raises(RuntimeError, match="score makes a row set: the host ends the call there"):
        CLUSTER.scores(over_nodes(["node-labels"], lambda pod, nodes: nodes.label_exists("tier")))


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (None, "a score for each row, SKIP or failed"),
        (b"\1\2\3", "a score for each row, SKIP or failed"),
        ([1, 2], "score returns 2 scores for 3 rows"),
        ([1, 2, 0.5], "an integer of 64 bits or NO_SCORE, not 0.5"),
        ([1, 2, True], "not True"),
        ([1, 2, None], "not None"),
        ([1, 2, 2**63], "an integer of 64 bits"),
    ],
)
def test_what_is_no_score_is_refused(returned: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        CLUSTER.scores(over_nodes([], lambda pod, nodes: returned))


def test_a_definition_without_what_it_needs_is_refused() -> None:
    with pytest.raises(TypeError, match="a normalization, one of none, by-largest"):
        by_node([], tier, "ByRange")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a text"):
        failed("")
    filters = node_predicate(name="Test", summary="tests", reads=[])(lambda pod, node: None)
    with pytest.raises(TypeError, match="expected what @scorer"):
        CLUSTER.scores(filters)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="filter: a function"):
        node_scorer(name="Test", summary="tests", reads=[], normalization="none", filter=filters)(tier)


def test_arguments_lines_and_interfaces_are_those_of_a_predicate() -> None:
    def level(pod: Pod, nodes: Nodes) -> list[int]:
        log.info(pod.label("app") or "none")
        return [7] * nodes.count

    found = Cluster(P(labels={"app": "web"}), NODES).scores(over_nodes(["pod-labels"], level))
    assert (found.raw, found.lines, found.read) == ({"a": 7, "b": 7, "c": 7}, [("info", "web")], ["pod-labels"])
    with pytest.raises(ArgumentError):
        CLUSTER.scores(over_nodes([], level), {"score": 1})
