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

func TestAPodFitsTheNodesOfItsTeamOnly(t *testing.T) {
	cluster := nodesifttest.Cluster{Pod: nodesifttest.Pod{Labels: nodesifttest.Texts{team: "red"}}, Nodes: nodes}
	nodesifttest.Equal(t, cluster.Rejected(t, {{type}}, nil), "blue: "+Reason, "unlabelled: "+Reason)
}

func TestAPodWithoutATeamFitsEverywhere(t *testing.T) {
	nodesifttest.Equal(t, nodesifttest.Cluster{Nodes: nodes}.Rejected(t, {{type}}, nil))
}

func TestTheLabelKeyIsAnArgument(t *testing.T) {
	cluster := nodesifttest.Cluster{Pod: nodesifttest.Pod{Labels: nodesifttest.Texts{"owner": "red"}}, Nodes: nodes}
	rejected := cluster.Rejected(t, {{type}}, nodesifttest.Args{"label": "owner"})
	nodesifttest.Equal(t, rejected, "red: "+Reason, "unlabelled: "+Reason)
}

func TestAMistypedArgumentIsRefused(t *testing.T) {
	_, err := nodesifttest.Cluster{Nodes: nodes}.Evaluate({{type}}, nodesifttest.Args{"lable": "owner"})
	if err == nil || !strings.HasPrefix(err.Error(), "lable: unknown field") {
		t.Fatal(err)
	}
}

// The cases of `nodesift-dev module test`, without the sandbox.
func TestCases(t *testing.T) { nodesifttest.Cases(t, {{type}}, nodesifttest.CasesFile) }
