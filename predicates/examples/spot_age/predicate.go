// SpotAge: a spot node takes pods only while it is neither new nor old. Many are reclaimed in their first minutes, before they have shown
// that there is capacity; and some clouds end each of them after a day at the latest. A pod that says it may be interrupted runs on every
// node.
package main

import (
	"fmt"
	"slices"
	"sort"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
)

// Why a node cannot run the pod.
const (
	ReasonNew = "node(s) were spot nodes that are too new"
	ReasonOld = "node(s) were spot nodes that are too old"
)

// Preempting pods does not change the age of a node.
var (
	tooNew = nodesift.Unresolvable(ReasonNew)
	tooOld = nodesift.Unresolvable(ReasonOld)
)

// Args are what a policy can set. Arguments of another name are refused.
type Args struct {
	// Label and Values say which nodes are spot nodes: those whose label has one of the values.
	Label  string   `json:"label" nodesift:"notempty"`
	Values []string `json:"values"`
	// Interruptible is the key of a pod label: with the value `true`, the pod runs on every node.
	Interruptible string `json:"interruptible" nodesift:"notempty"`
	// MinMinutes is the age from which on a spot node takes pods, MaxMinutes the one from which on it takes none.
	MinMinutes int64 `json:"minMinutes"`
	MaxMinutes int64 `json:"maxMinutes"`
}

// SpotAge is the predicate.
var SpotAge = nodesift.Predicate[Args]{
	Name:    "SpotAge",
	Version: "0.1.0",
	Summary: "rejects spot nodes that are too new or too old for the pod",
	Defaults: Args{
		Label: "karpenter.sh/capacity-type", Values: []string{"spot"}, Interruptible: "example.com/interruptible",
		MinMinutes: 10, MaxMinutes: 20 * 60,
	},
	Check:  check,
	Filter: filter,
}

// greatestMinutes is a century: what a moment in seconds is added to cannot overflow.
const greatestMinutes = 100 * 366 * 24 * 60

func check(args *Args) error {
	if args.MinMinutes < 0 || args.MinMinutes >= args.MaxMinutes {
		return fmt.Errorf("minMinutes: must be 0 or more, and less than maxMinutes")
	}
	if args.MaxMinutes > greatestMinutes {
		return fmt.Errorf("maxMinutes: must be %d or less", greatestMinutes)
	}
	return nil
}

func filter(pod *nodesift.Pod, nodes *nodesift.Nodes, args *Args) *nodesift.Failure {
	if value, _ := pod.Label(args.Interruptible); value == "true" {
		return nil
	}
	labels, created := nodes.Labels(args.Label), nodes.Created()
	var spot []uint32
	for _, value := range args.Values {
		spot = append(spot, labels.Code(value))
	}
	var rows []int
	var moments []int64
	for row, code := range labels.Codes {
		// A node that does not say when it was made fits.
		if created[row] > 0 && slices.Contains(spot, code) {
			rows, moments = append(rows, row), append(moments, created[row])
		}
	}
	slices.Sort(moments)
	// Those made before the first are too old, those made from the second on too new.
	old, young := firstYounger(moments, args.MaxMinutes), firstYounger(moments, args.MinMinutes)
	for _, row := range rows {
		switch {
		case created[row] < old:
			nodes.RejectRow(row, tooOld)
		case created[row] >= young:
			nodes.RejectRow(row, tooNew)
		}
	}
	return nil
}

// firstYounger is the first of the sorted moments that is not yet this long ago, or one after all of them. A moment that is that long ago
// is so for all earlier ones too, so a binary search asks for few. The verdict is kept until one of the moments asked for passes, and the
// next one is among them.
func firstYounger(moments []int64, minutes int64) int64 {
	index := sort.Search(len(moments), func(index int) bool { return !nodesift.Passed(moments[index] + minutes*60) })
	if index == len(moments) {
		return latest
	}
	return moments[index]
}

// latest is after every moment.
const latest = int64(^uint64(0) >> 1)

func init() { nodesift.Export(SpotAge) }

// The component has no main; the Go toolchain wants one.
func main() {}
