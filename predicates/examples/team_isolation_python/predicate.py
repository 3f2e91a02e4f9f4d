"""TeamIsolation: keeps teams apart.

A pod with the label `example.com/team` runs only on nodes that have the same label with the same value. A pod without the label
runs on every node.
"""

from dataclasses import dataclass

from nodesift import Nodes, Pod, predicate, unresolvable

REASON = "node(s) didn't belong to the pod's team"

# `unresolvable`: preempting pods does not change the label of a node.
OTHER_TEAM = unresolvable(REASON)


@dataclass
class Args:
    """What a policy can set. Arguments of another name are refused."""

    label: str = "example.com/team"

    def __post_init__(self) -> None:
        if not self.label:
            raise ValueError("label: must not be empty")


@predicate(
    name="TeamIsolation",
    summary="rejects nodes that belong to another team than the pod",
    # What it reads, and all that it can read: a policy allows no more than this.
    reads=["pod-labels", "node-labels"],
    args=Args,
)
def team_isolation(pod: Pod, nodes: Nodes, args: Args) -> None:
    team = pod.label(args.label)
    if team is not None:
        nodes.reject(~nodes.label_in(args.label, [team]), OTHER_TEAM)
