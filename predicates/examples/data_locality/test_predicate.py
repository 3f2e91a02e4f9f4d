from nodesift.testing import Cluster, Node, Pod

from predicate import data_locality

REASON = "node(s) didn't have the pod's dataset"
NODES = [
    Node("both", annotations={"example.com/datasets": "imagenet, coco"}),
    Node("one", annotations={"example.com/datasets": "coco"}),
    Node("alike", annotations={"example.com/datasets": "imagenet-21k"}),
    Node("none"),
]


def rejected(dataset: str) -> list[str]:
    return Cluster(Pod(annotations={"example.com/dataset": dataset}), NODES).rejected(data_locality)


def test_a_pod_runs_where_its_dataset_is() -> None:
    assert rejected("imagenet") == [f"one: {REASON}", f"alike: {REASON}", f"none: {REASON}"]
    assert rejected("coco") == [f"alike: {REASON}", f"none: {REASON}"]


def test_a_dataset_that_is_nowhere_fits_nowhere() -> None:
    assert len(rejected("laion")) == len(NODES)


def test_a_pod_without_a_dataset_runs_everywhere() -> None:
    assert Cluster(Pod(), NODES).rejected(data_locality) == []


def test_the_annotations_are_arguments() -> None:
    args = {"dataset": "needs", "datasets": "has"}
    nodes = [Node("a", annotations={"has": "x"}), Node("b", annotations={"example.com/datasets": "x"})]
    assert Cluster(Pod(annotations={"needs": "x"}), nodes).rejected(data_locality, args) == [f"b: {REASON}"]
