package main

import (
	"strings"
	"testing"

	"github.com/nodesift/nodesift/sdk/predicate/go/nodesifttest"
)

const team = "example.com/team"

var nodes = []nodesifttest.Node{
	{Name: "red", Labels: nodesifttest.Texts{team: "red"}},
	{Name: "blue", Labels: nodesifttest.Texts{team: "blue", "owner": "red"}},
	{Name: "unlabelled"},
}

func TestAPodPrefersTheNodesOfItsTeam(t *testing.T) {
	cluster := nodesifttest.Cluster{Pod: nodesifttest.Pod{Labels: nodesifttest.Texts{team: "red"}}, Nodes: nodes}
	nodesifttest.Equal(t, cluster.Scores(t, {{type}}, nil), "red: 100", "blue: 0", "unlabelled: 0")
	// No node is rejected.
	nodesifttest.Equal(t, cluster.Rejected(t, {{type}}, nil))
}

func TestNothingIsSaidOfAPodWithoutATeam(t *testing.T) {
	nodesifttest.Equal(t, nodesifttest.Cluster{Nodes: nodes}.Scores(t, {{type}}, nil), "skipped")
}

func TestTheLabelKeyIsAnArgument(t *testing.T) {
	cluster := nodesifttest.Cluster{Pod: nodesifttest.Pod{Labels: nodesifttest.Texts{"owner": "red"}}, Nodes: nodes}
	scores := cluster.Scores(t, {{type}}, nodesifttest.Args{"label": "owner"})
	nodesifttest.Equal(t, scores, "red: 0", "blue: 100", "unlabelled: 0")
}

func TestAMistypedArgumentIsRefused(t *testing.T) {
	_, err := nodesifttest.Cluster{Nodes: nodes}.Score({{type}}, nodesifttest.Args{"lable": "owner"})
	if err == nil || !strings.HasPrefix(err.Error(), "lable: unknown field") {
		t.Fatal(err)
	}
}

// The cases of `nodesift-dev module test`, without the sandbox; those about scores are left to it.
func TestCases(t *testing.T) { nodesifttest.Cases(t, {{type}}, nodesifttest.CasesFile) }
