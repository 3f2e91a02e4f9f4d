import pytest
from nodesift import ArgumentError
from nodesift.testing import Cluster, Node, Pod, cases

from predicate import REASON, {{ident}}

TEAM = "example.com/team"
NODES = [
    Node("red", labels={TEAM: "red"}),
    Node("blue", labels={TEAM: "blue", "owner": "red"}),
    Node("unlabelled"),
]


def test_a_pod_fits_the_nodes_of_its_team_only():
    rejected = Cluster(Pod(labels={TEAM: "red"}), NODES).rejected({{ident}})
    assert rejected == [f"blue: {REASON}", f"unlabelled: {REASON}"]


def test_a_pod_without_a_team_fits_everywhere():
    assert Cluster(Pod(), NODES).rejected({{ident}}) == []


def test_the_label_key_is_an_argument():
    rejected = Cluster(Pod(labels={"owner": "red"}), NODES).rejected({{ident}}, {"label": "owner"})
    assert rejected == [f"red: {REASON}", f"unlabelled: {REASON}"]


def test_a_mistyped_argument_is_refused():
    with pytest.raises(ArgumentError, match="^lable: unknown field"):
        Cluster(nodes=NODES).rejected({{ident}}, {"lable": "owner"})


@pytest.mark.parametrize("case", cases("cases.yaml"), ids=str)
def test_cases(case):
    """The cases of `nodesift-dev module test`, without the sandbox."""
    case.check({{ident}})
