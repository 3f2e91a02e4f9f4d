"""DataZone: a pod runs only in the zones that have the dataset that it needs, so that no read crosses zones.

A ConfigMap has an entry for each dataset with its zones, separated by commas; an annotation of the pod names the dataset. A pod without the
annotation runs on every node. A dataset that moves is an edit of the ConfigMap: the policy and its pods stay as they are.
"""

from dataclasses import dataclass

from nodesift import Failure, Nodes, Pod, config_entry, predicate, unresolvable

# `unresolvable`: preempting pods does not move a dataset.
OTHER_ZONE = unresolvable("node(s) were in a zone without the pod's dataset")
UNKNOWN = unresolvable("the pod's dataset is in no zone that the ConfigMap names")


@dataclass
class Args:
    """What a policy can set. The annotation and the ConfigMap must also be named in `spec.facts` of the policy."""

    annotation: str = "example.com/dataset"
    """The annotation of the pod."""
    config_map: str = "data/zones"
    """The ConfigMap, as `namespace/name`."""
    label: str = "topology.kubernetes.io/zone"
    """The label of nodes that names their zone."""


@predicate(
    name="DataZone",
    summary="rejects nodes in zones that do not have the dataset that the pod needs",
    reads=["pod-annotations", "config-maps", "node-labels"],
    args=Args,
)
def data_zone(pod: Pod, nodes: Nodes, args: Args) -> Failure | None:
    dataset = pod.annotation(args.annotation)
    if dataset is None:
        return None
    entry = config_entry(args.config_map, dataset) or ""
    zones = [zone.strip() for zone in entry.split(",") if zone.strip()]
    if not zones:
        return UNKNOWN
    nodes.reject(~nodes.label_in(args.label, zones), OTHER_ZONE)
    return None
