// LicensePools: a pod with the label `example.com/license: cad` runs only on nodes with the label `example.com/license-pool: cad`, and
// at most as many such pods run in the cluster as there are licences. A pod without the label runs on every node.
package main

import (
	"fmt"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// Why a node cannot run the pod.
const (
	ReasonPool = "node(s) didn't belong to the pool of the pod's licence"
	ReasonUsed = "node(s) had no licence left for the pod"
)

var (
	// Preempting pods does not move a node to another pool.
	otherPool = nodesift.Unresolvable(ReasonPool)
	// A pod that is preempted gives its licence back.
	allUsed = nodesift.Unschedulable(ReasonUsed)
)

// Args are what a policy can set. Arguments of another name are refused.
type Args struct {
	// Label is the key of the pod label that names the licence.
	Label string `json:"label" nodesift:"notempty"`
	// PoolLabel is the key of the node label that names the licence of its pool.
	PoolLabel string `json:"poolLabel" nodesift:"notempty"`
	// Limits are how many pods may use a licence at once. Without an entry, a licence is not limited.
	Limits map[string]int64 `json:"limits"`
}

// LicensePools is the predicate.
var LicensePools = nodesift.Predicate[Args]{
	Name:     "LicensePools",
	Version:  "0.1.0",
	Summary:  "rejects nodes outside of the pool of the pod's licence, and all while no licence is left",
	Defaults: Args{Label: "example.com/license", PoolLabel: "example.com/license-pool"},
	Check:    check,
	Filter:   filter,
}

func check(args *Args) error {
	for license, limit := range args.Limits {
		if limit < 0 {
			return fmt.Errorf("limits.%s: must be 0 or more, not %d", license, limit)
		}
	}
	return nil
}

func filter(pod *nodesift.Pod, nodes *nodesift.Nodes, args *Args) *nodesift.Failure {
	license, needsOne := pod.Label(args.Label)
	if !needsOne {
		return nil
	}
	nodes.Reject(nodes.LabelIn(args.PoolLabel, license).Not(), otherPool)
	if limit, isLimited := args.Limits[license]; isLimited && inUse(args.Label, license) >= limit {
		nodes.Reject(nodes.All(), allUsed) // a node that was rejected before keeps its reason
	}
	return nil
}

// inUse is the number of pods in all namespaces that use the licence, with those that are terminating: they hold it until they are gone.
func inUse(label, license string) int64 {
	users := facts.ClusterPodsPodSelector{
		NamespaceRequirements: &[]facts.SelectorsRequirement{}, // none: every namespace
		Requirements: []facts.SelectorsRequirement{
			{Key: label, Operator: facts.SelectorsOperatorIn, Values: []string{license}, OperatorText: "In"},
		},
	}
	var sum int64
	for _, pods := range facts.ClusterPodsMatching([]facts.ClusterPodsPodSelector{users}, true) {
		sum += int64(pods)
	}
	return sum
}

func init() { nodesift.Export(LicensePools) }

// The component has no main; the Go toolchain wants one.
func main() {}
