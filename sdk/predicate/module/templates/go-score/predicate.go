// {{type}}: a pod with the label `example.com/team` prefers nodes that have the same label with the same value. Of a pod without the label
// it says nothing. No node is rejected.
package main

import (
	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/scoring"
)

// Args are what a policy can set. Arguments of another name are refused.
type Args struct {
	// Label is the key of the label, on pods and on nodes.
	Label string `json:"label" nodesift:"notempty"`
}

// {{type}} is the scorer.
var {{type}} = nodesift.Scorer[Args]{
	Name:     "{{type}}",
	Version:  "0.1.0",
	Summary:  "prefers nodes that belong to the pod's team",
	Defaults: Args{Label: "example.com/team"},
	// Scores are from 0 to 100 as they are. Of counts and costs, another normalization makes such scores.
	Normalization: nodesift.NormalizeNone,
	Score:         score,
}

func score(pod *nodesift.Pod, nodes *nodesift.Nodes, args *Args) *nodesift.Scores {
	team, hasTeam := pod.Label(args.Label)
	if !hasTeam {
		return nodesift.Skip()
	}
	// A column has a code per node, and equal texts have equal codes.
	labels := nodes.Labels(args.Label)
	wanted := labels.Code(team)
	raw := make([]int64, nodes.Count())
	for row, code := range labels.Codes {
		if code == wanted {
			raw[row] = 100
		}
	}
	return nodesift.ByRow(raw)
}

func init() { scoring.Export({{type}}) }

// The component has no main; the Go toolchain wants one.
func main() {}
