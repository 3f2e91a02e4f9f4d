"""DataLocality: a pod runs only where the dataset that it needs is on the node's disks.

An annotation of the node lists its datasets, separated by commas; an annotation of the pod names the one that it needs. A pod
without the annotation runs on every node. Whatever fills the disks keeps the annotation of the node up to date.
"""

from dataclasses import dataclass

from nodesift import Nodes, Pod, predicate, unresolvable

# `unresolvable`: preempting pods does not bring a dataset to a node.
NO_DATASET = unresolvable("node(s) didn't have the pod's dataset")


@dataclass
class Args:
    """What a policy can set. The keys must also be among `spec.facts.annotations` of the policy."""

    dataset: str = "example.com/dataset"
    """The annotation of the pod."""
    datasets: str = "example.com/datasets"
    """The annotation of nodes."""


@predicate(
    name="DataLocality",
    summary="rejects nodes that do not have the dataset that the pod needs",
    reads=["pod-annotations", "node-annotations"],
    args=Args,
)
def data_locality(pod: Pod, nodes: Nodes, args: Args) -> None:
    dataset = pod.annotation(args.dataset)
    if dataset is None:
        return
    # Once per different list of datasets, not once per node.
    lists = nodes.annotation_texts(args.datasets)
    having = [text for text in lists if dataset in (name.strip() for name in text.split(","))]
    nodes.reject(~nodes.annotation_in(args.datasets, having), NO_DATASET)
