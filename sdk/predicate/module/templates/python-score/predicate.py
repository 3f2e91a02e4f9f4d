"""{{type}}: has pods of a team prefer its nodes.

A pod with the label `example.com/team` prefers nodes that have the same label with the same value. About a pod without the label nothing
is said. No node is rejected.
"""

from dataclasses import dataclass

from nodesift import SKIP, Node, Pod, Skip, node_scorer


@dataclass
class Args:
    """What a policy can set. Arguments of another name are refused."""

    label: str = "example.com/team"

    def __post_init__(self) -> None:
        if not self.label:
            raise ValueError("label: must not be empty")


@node_scorer(
    name="{{type}}",
    summary="prefers nodes that belong to the pod's team",
    # What it reads, and all that it can read: a policy allows no more than this.
    reads=["pod-labels", "node-labels"],
    args=Args,
    # Scores are from 0 to 100 as they are. Of counts and costs, another normalization makes such scores.
    normalization="none",
)
def {{ident}}(pod: Pod, node: Node, args: Args) -> int | Skip:
    team = pod.label(args.label)
    if team is None:
        return SKIP
    return 100 if node.label(args.label) == team else 0
