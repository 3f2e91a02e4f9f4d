"""{{type}}: has pods of a team prefer its nodes.

A pod with the label `example.com/team` prefers nodes that have the same label with the same value. About a pod without the label nothing
is said. No node is rejected.
"""

from dataclasses import dataclass

from nodesift import SKIP, Nodes, Pod, Skip, scorer


@dataclass
class Args:
    """What a policy can set. Arguments of another name are refused."""

    label: str = "example.com/team"

    def __post_init__(self) -> None:
        if not self.label:
            raise ValueError("label: must not be empty")


@scorer(
    name="{{type}}",
    summary="prefers nodes that belong to the pod's team",
    # What it reads, and all that it can read: a policy allows no more than this.
    reads=["pod-labels", "node-labels"],
    args=Args,
    # Scores are from 0 to 100 as they are. Of counts and costs, another normalization makes such scores.
    normalization="none",
)
def {{ident}}(pod: Pod, nodes: Nodes, args: Args) -> list[int] | Skip:
    team = pod.label(args.label)
    if team is None:
        return SKIP
    # A column has a code per node, and equal texts have equal codes. `node_scorer` looks at one node at a time, which takes longer.
    labels = nodes.labels(args.label)
    wanted = labels.code(team)
    return [100 if code == wanted else 0 for code in labels.codes]
