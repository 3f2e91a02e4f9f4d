from nodesift.testing import Cluster, Node, Pod

from predicate import data_zone

OTHER = "node(s) were in a zone without the pod's dataset"
UNKNOWN = "the pod's dataset is in no zone that the ConfigMap names"
ZONE = "topology.kubernetes.io/zone"
NODES = [Node("a", labels={ZONE: "eu-1a"}), Node("b", labels={ZONE: "eu-1b"}), Node("none")]
ZONES = {"data/zones": {"imagenet": "eu-1a, eu-1b", "coco": "eu-1b", "empty": " , "}}


def rejected(dataset: str) -> list[str]:
    pod = Pod(annotations={"example.com/dataset": dataset})
    return Cluster(pod, NODES, config_maps=ZONES).rejected(data_zone)


def test_a_pod_runs_in_the_zones_of_its_dataset() -> None:
    assert rejected("coco") == [f"a: {OTHER}", f"none: {OTHER}"]
    assert rejected("imagenet") == [f"none: {OTHER}"]


def test_a_dataset_without_zones_fits_nowhere() -> None:
    for dataset in ("laion", "empty"):
        assert rejected(dataset) == [f"{name}: {UNKNOWN}" for name in ("a", "b", "none")]


def test_a_pod_without_a_dataset_runs_everywhere() -> None:
    assert Cluster(Pod(), NODES, config_maps=ZONES).rejected(data_zone) == []


def test_the_names_are_arguments() -> None:
    args = {"annotation": "needs", "config_map": "ops/data", "label": "rack"}
    nodes = [Node("x", labels={"rack": "r1"}), Node("y", labels={"rack": "r2"})]
    cluster = Cluster(Pod(annotations={"needs": "d"}), nodes, config_maps={"ops/data": {"d": "r2"}})
    assert cluster.rejected(data_zone, args) == [f"x: {OTHER}"]
