// TeamIsolation: a pod with the label `example.com/team` runs only on nodes that have the same label with the same value. A pod without
// the label runs on every node.
package main

import nodesift "github.com/nodesift/nodesift/sdk/predicate/go"

// Reason: the node belongs to another team or to none.
const Reason = "node(s) didn't belong to the pod's team"

// Preempting pods does not change the label of a node.
var otherTeam = nodesift.Unresolvable(Reason)

// Args are what a policy can set. Arguments of another name are refused.
type Args struct {
	// Label is the key of the label, on pods and on nodes.
	Label string `json:"label" nodesift:"notempty"`
}

// TeamIsolation is the predicate.
var TeamIsolation = nodesift.Predicate[Args]{
	Name:     "TeamIsolation",
	Version:  "0.1.0",
	Summary:  "rejects nodes that belong to another team than the pod",
	Defaults: Args{Label: "example.com/team"},
	Filter:   filter,
}

func filter(pod *nodesift.Pod, nodes *nodesift.Nodes, args *Args) *nodesift.Failure {
	team, hasTeam := pod.Label(args.Label)
	if !hasTeam {
		return nil
	}
	// A column has a code per node, and equal texts have equal codes.
	labels := nodes.Labels(args.Label)
	wanted := labels.Code(team)
	for row, code := range labels.Codes {
		if code != wanted {
			nodes.RejectRow(row, otherTeam)
		}
	}
	return nil
}

func init() { nodesift.Export(TeamIsolation) }

// The component has no main; the Go toolchain wants one.
func main() {}
