// TenantPods: at most so many pods of a tenant run on one node. The label `example.com/tenant` of a Namespace names the tenant, to whom
// several namespaces can belong. A pod of a namespace without the label runs on every node.
package main

import (
	"fmt"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// Reason says why a node cannot run the pod.
const Reason = "node(s) had enough pods of the pod's tenant"

// A pod of the tenant that is preempted leaves its place to the pod.
var enough = nodesift.Unschedulable(Reason)

// Args are what a policy can set. Arguments of another name are refused.
type Args struct {
	// Label is the key of the label of Namespaces that names the tenant.
	Label string `json:"label" nodesift:"notempty"`
	// Limit is the number of pods of a tenant that a node takes.
	Limit uint32 `json:"limit"`
	// Limits are those of some tenants, in place of Limit.
	Limits map[string]uint32 `json:"limits"`
}

// TenantPods is the predicate.
var TenantPods = nodesift.Predicate[Args]{
	Name:     "TenantPods",
	Version:  "0.1.0",
	Summary:  "rejects nodes that have enough pods of the pod's tenant",
	Defaults: Args{Label: "example.com/tenant", Limit: 10},
	Check:    check,
	Filter:   filter,
}

func check(args *Args) error {
	if args.Limit == 0 {
		return fmt.Errorf("limit: must be 1 or more")
	}
	// 0 of some tenants is meant: no node takes them.
	return nil
}

func filter(pod *nodesift.Pod, nodes *nodesift.Nodes, args *Args) *nodesift.Failure {
	tenant, hasTenant := pod.NamespaceLabel(args.Label)
	if !hasTenant {
		return nil
	}
	limit, isOwn := args.Limits[tenant]
	if !isOwn {
		limit = args.Limit
	}
	for row, pods := range podsOf(args.Label, tenant) {
		if pods >= limit {
			nodes.RejectRow(row, enough)
		}
	}
	return nil
}

// podsOf is the number of pods of all namespaces of a tenant by row, with those that are terminating: they take their place until they are
// gone.
func podsOf(label, tenant string) []uint32 {
	ofTenant := []facts.SelectorsRequirement{
		{Key: label, Operator: facts.SelectorsOperatorIn, Values: []string{tenant}, OperatorText: "In"},
	}
	return facts.ClusterPodsMatching([]facts.ClusterPodsPodSelector{{NamespaceRequirements: &ofTenant}}, true)
}

func init() { nodesift.Export(TenantPods) }

// The component has no main; the Go toolchain wants one.
func main() {}
