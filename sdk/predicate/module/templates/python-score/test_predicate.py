import pytest
from nodesift import ArgumentError
from nodesift.testing import Cluster, Node, Pod, cases

from predicate import {{ident}}

TEAM = "example.com/team"
NODES = [
    Node("red", labels={TEAM: "red"}),
    Node("blue", labels={TEAM: "blue", "owner": "red"}),
    Node("unlabelled"),
]


def test_a_pod_prefers_the_nodes_of_its_team():
    scores = Cluster(Pod(labels={TEAM: "red"}), NODES).scores({{ident}})
    assert scores.normalized == {"red": 100, "blue": 0, "unlabelled": 0}


def test_nothing_is_said_about_a_pod_without_a_team():
    assert Cluster(Pod(), NODES).scores({{ident}}).outcome == "Skipped"


def test_the_label_key_is_an_argument():
    scores = Cluster(Pod(labels={"owner": "red"}), NODES).scores({{ident}}, {"label": "owner"})
    assert scores.normalized == {"red": 0, "blue": 100, "unlabelled": 0}


def test_no_node_is_rejected():
    assert Cluster(Pod(labels={TEAM: "red"}), NODES).rejected({{ident}}) == []


def test_a_mistyped_argument_is_refused():
    with pytest.raises(ArgumentError, match="^lable: unknown field"):
        Cluster(nodes=NODES).scores({{ident}}, {"lable": "owner"})


@pytest.mark.parametrize("case", cases("cases.yaml"), ids=str)
def test_cases(case):
    """The cases of `nodesift-dev module test`, without the sandbox."""
    case.check({{ident}})
