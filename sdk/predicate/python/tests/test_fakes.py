"""Tests that the functions of tests are all of those of the contract, and say what objects say."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nodesift
import pytest
from nodesift import Nodes, Owner, predicate
from nodesift import Pod as Filtered
from nodesift.testing import Cluster, Node, Pod
from nodesift.testing.row_sets import RowSets

CONTRACT = (Path(nodesift.__file__).parent / "predicate.wit").read_text()
INTERFACE = re.compile(r"^interface ([a-z-]+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^    %?([a-z-]+): func\((.*?)\)", re.MULTILINE)
LEAST_FUNCTIONS = 90
SIMPLE = {"string": "a", "bool": True, "u32": 0, "s64": 0, "field": "kernel-version"}


def declared() -> list[tuple[str, str, list[str]]]:
    """Interface, name and types of the parameters of every function that can be imported."""
    world = CONTRACT[CONTRACT.index("world guest {") :]
    imports = set(re.findall(r"^    import ([a-z-]+);", world, re.MULTILINE))
    return [
        (interface, name, re.findall(r"%?[a-z-]+: ([^,]+)", params))
        for interface, body in INTERFACE.findall(CONTRACT)
        if interface in imports and interface != "log"
        for name, params in FUNCTION.findall(body)
    ]


def python_name(name: str) -> str:
    return f"{name}_" if name in ("and", "or", "not") else name.replace("-", "_")


def test_every_function_of_the_contract_answers() -> None:
    cluster = Cluster(nodes=[Node("a"), Node("b")])
    functions = declared()
    assert len(functions) >= LEAST_FUNCTIONS
    for interface, name, kinds in functions:
        sources = cluster.functions(cluster.nodes, RowSets(2))
        source = next((one for one in sources.get(interface, []) if hasattr(one, python_name(name))), None)
        assert source is not None, f"{interface}.{name}"
        if interface != "row-sets":
            given = [[] if kind.startswith("list") else SIMPLE.get(kind, SimpleNamespace()) for kind in kinds]
            getattr(source, python_name(name))(*given)
    print(f"{len(functions)} functions answer")


def asked(cluster: Cluster, interface: str, *calls: tuple[Any, ...]) -> list[Any]:
    answers: list[Any] = []

    @predicate(name="Test", summary="tests", reads=[interface, "cluster-pods"])
    def asks(pod: Filtered, nodes: Nodes) -> None:
        answers.extend(getattr(nodesift.facts(interface), name)(*given) for name, *given in calls)

    assert cluster.rejected(asks) == []
    return answers


def requirement(operator: str, *values: str) -> Any:
    return SimpleNamespace(key="app", operator=operator, values=list(values), operator_text=operator)


def selector(*requirements: Any, namespaces: tuple[str, ...] = (), further: Any = None) -> list[Any]:
    return [SimpleNamespace(namespaces=namespaces, namespace_requirements=further, requirements=requirements)]


WEB = Owner("apps/v1", "ReplicaSet", "web")
RUNNING = Cluster(
    Pod(labels={"app": "web"}, controller=WEB, host_ports=[80]),
    [Node("a", allocatable={"cpu": 4000}, requested={"cpu": 500}), Node("b", pods=2), Node("c")],
    pods=[
        Pod(node_name="a", labels={"app": "web"}, requests={"cpu": 1000}, controller=WEB, host_ports=[80]),
        Pod(node_name="a", labels={"app": "db"}, namespace="prod", namespace_labels={"app": "x"}, scheduler_name="other"),
        Pod(node_name="c", labels={"app": "web"}, requests={"cpu": 200}, controller=WEB, terminating=True),
    ],
    device_class_resources=["example.com/gpu"],
)


def test_pods_on_nodes_are_in_the_columns_of_their_nodes() -> None:
    assert asked(
        RUNNING,
        "node-resources",
        ("requested", "cpu"),
        ("free", "cpu"),
        ("foreign", "cpu"),
        ("pods",),
        ("foreign_pods",),
        ("pod_room",),
        ("device_class_serves", "example.com/gpu"),
        ("device_class_serves", "cpu"),
    ) == [[1500, 0, 200], [2500, 0, -200], [0, 0, 0], [3, 2, 1], [1, 0, 0], [107, 108, 109], True, False]
    assert asked(RUNNING, "node-ports", ("conflicts",)) == [b"\x01\x00\x00"]
    assert asked(Cluster(nodes=RUNNING.nodes), "node-ports", ("conflicts",)) == [None]


def test_pods_are_counted_by_selectors_and_controllers() -> None:
    every = [SimpleNamespace(key="app", operator="exists", values=[], operator_text="Exists")]
    assert asked(
        RUNNING,
        "cluster-pods",
        ("matching", selector(requirement("in", "web"), namespaces=("default",)), False),
        ("matching", selector(requirement("in", "web"), namespaces=("default",)), True),
        ("matching", selector(requirement("NOT_IN", "web"), further=[]), True),
        ("matching", selector(further=every), True),
        ("matching", selector(requirement("does-not-exist"), namespaces=("default",)), True),
        ("requested", selector(further=[]), "cpu", True),
        ("matches_this_pod", selector(requirement("exists"), namespaces=("default",))),
        ("matches_this_pod", selector(requirement("exists"), namespaces=("prod",))),
    ) == [[1, 0, 0], [1, 0, 1], [2, 2, 0], [1, 0, 0], [1, 2, 0], [1500, 0, 200], True, False]
    assert asked(RUNNING, "cluster-controllers", ("same_controller", False), ("same_controller", True)) == [
        [1, 0, 0],
        [1, 0, 1],
    ]
    assert asked(RUNNING, "pod-owner", ("controller_uid",)) == ["default/ReplicaSet/web"]
    assert asked(Cluster(), "cluster-controllers", ("same_controller", False)) == [None]


def test_what_scores_read_is_made_of_requests_images_and_pods() -> None:
    mib = 2**20
    pod = Pod(requests={"cpu": 250, "example.com/gpu": 1}, images=["b", "a:1", "r:5000/c", "d@sha256:0"])
    cluster = Cluster(
        pod,
        [
            Node("a", requested={"cpu": 0}, pods=2, images=["b"]),
            Node("b", images=["b", "a:1"], image_sizes={"b": 7, "a:1": 9}),
            Node("c"),
        ],
        pods=[Pod(node_name="b", requests={"memory": 5}), Pod(node_name="b", non_zero_requests={"cpu": 3})],
    )

    def requests(given: Cluster) -> dict[str, int]:
        return {one.resource: one.amount for one in asked(given, "pod-non-zero-requests", ("requests",))[0]}

    assert list(requests(cluster).items()) == [("cpu", 550), ("example.com/gpu", 1), ("memory", 800 * mib)]
    assert requests(Cluster()) == {"cpu": 100, "memory": 200 * mib}
    assert requests(Cluster(Pod(requests={"cpu": 0}))) == {"cpu": 0, "memory": 200 * mib}
    given = Pod(non_zero_requests={"cpu": 1, "memory": 2}, images=["a", "b"])
    assert requests(Cluster(given)) == {"cpu": 1, "memory": 2}
    assert asked(
        cluster, "node-non-zero-requests", ("requested", "cpu"), ("requested", "memory"), ("requested", "example.com/gpu")
    ) == [[100, 103, 0], [400 * mib, 5, 0], [0, 0, 0]]
    images = ["b:latest", "a:1", "r:5000/c:latest", "d@sha256:0"]
    assert asked(cluster, "pod-images", ("containers",), ("volumes",)) == [images, []]
    assert asked(Cluster(Pod(container_images=["x:2"])), "pod-images", ("containers",)) == [["x:2"]]
    assert asked(Cluster(), "pod-images", ("containers",)) == [["image:latest"]]
    # The size is that of the first node that has the image.
    assert asked(cluster, "cluster-images", ("size", "b"), ("size", "a:1"), ("size", "x")) == [0, 9, 0]
    assert asked(cluster, "cluster-candidates", ("feasible",)) == [b"\1\1\1"]


def test_what_the_host_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="operator unknown"):
        asked(RUNNING, "cluster-pods", ("matching", selector(requirement("unknown"), namespaces=("default",)), True))
    with pytest.raises(ValueError, match="no such node"):
        asked(Cluster(pods=[Pod(node_name="x")]), "cluster-pods")
    with pytest.raises(ValueError, match="0 pods"):
        asked(Cluster(nodes=[Node("a", pods=0, requested={"cpu": 1})]), "cluster-pods")


def test_what_a_test_gives_takes_the_place_of_a_function() -> None:
    cluster = Cluster(nodes=[Node("a")], facts={"cluster-pods": SimpleNamespace(matching=lambda *_: [7])})
    assert asked(cluster, "cluster-pods", ("matching", [], False), ("matches_this_pod", [])) == [[7], True]
