// Package nodesift is the SDK for predicates and scorers in Go: functions of a pod and nodes that say which nodes cannot run the pod, and
// why; and functions that say how good nodes are for it.
//
// A predicate is a main package that exports one:
//
//	var predicate = nodesift.Predicate[Args]{Name: "TeamIsolation", Summary: "…", Filter: filter}
//
//	func init() { nodesift.Export(predicate) }
//
//	func main() {}
//
// `nodesift-dev module build` makes a component of it, which imports what the code calls and nothing else; so a policy can allow no more than
// that. The package nodesifttest runs it on plain pods and nodes. Start at [Predicate] and [NodePredicate], for scorers at [Scorer] and
// [NodeScorer].
package nodesift

import (
	"errors"

	"github.com/nodesift/nodesift/sdk/predicate/go/internal/scorer"
)

// Definition is a [Predicate] or a [NodePredicate], or a [ScorerDefinition].
type Definition interface {
	describe() (name, version, summary string)
	configure(text string) (calls, error)
}

// calls are the functions of a definition, with its arguments.
type calls struct {
	// filter rejects nodes. The failure is of a pod that fits no node, whatever the nodes are.
	filter func(pod *Pod, nodes *Nodes) *Failure
	// score is nil where the definition does not score.
	score func(pod *Pod, nodes *Nodes) *Scores
}

var (
	errWithoutFilter = errors.New("the predicate has no Filter")
	errWithoutScore  = errors.New("the scorer has no Score")
)

// NoArgs are the arguments of a predicate that takes none.
type NoArgs = struct{}

// Predicate is a function of the pod and all nodes of a call.
type Predicate[Args any] struct {
	// Name is the name as used in policies.
	Name string
	// Version is the version of the predicate, in any scheme.
	Version string
	// Summary says in one line which nodes it rejects.
	Summary string
	// Defaults stand for arguments that a policy leaves out.
	Defaults Args
	// Check is optional: an error refuses the policy with its text, which should begin with the path of the argument.
	Check func(args *Args) error
	// Filter rejects nodes with [Nodes.Reject] or [Nodes.RejectRow], and returns nil; or it returns a failure where the pod fits no
	// node, whatever the nodes are.
	Filter func(pod *Pod, nodes *Nodes, args *Args) *Failure
}

// NodePredicate is a function of the pod and one node.
type NodePredicate[Args any] struct {
	// Name is the name as used in policies.
	Name string
	// Version is the version of the predicate, in any scheme.
	Version string
	// Summary says in one line which nodes it rejects.
	Summary string
	// Defaults stand for arguments that a policy leaves out.
	Defaults Args
	// Check is optional: an error refuses the policy with its text, which should begin with the path of the argument.
	Check func(args *Args) error
	// Filter returns why the node cannot run the pod, or nil where it can. It is called once per node.
	Filter func(pod *Pod, node *Node, args *Args) *Failure
}

func (p Predicate[Args]) describe() (name, version, summary string) {
	return p.Name, p.Version, p.Summary
}

func (p Predicate[Args]) configure(text string) (calls, error) {
	if p.Filter == nil {
		return calls{}, errWithoutFilter
	}
	args, err := parseArgs(text, p.Defaults, p.Check)
	if err != nil {
		return calls{}, err
	}
	return calls{filter: func(pod *Pod, nodes *Nodes) *Failure { return p.Filter(pod, nodes, args) }}, nil
}

func (p NodePredicate[Args]) describe() (name, version, summary string) {
	return p.Name, p.Version, p.Summary
}

func (p NodePredicate[Args]) configure(text string) (calls, error) {
	if p.Filter == nil {
		return calls{}, errWithoutFilter
	}
	args, err := parseArgs(text, p.Defaults, p.Check)
	if err != nil {
		return calls{}, err
	}
	return calls{filter: perNode(p.Filter, args)}, nil
}

// perNode makes a filter of all nodes of one that is called once per node.
func perNode[Args any](filter func(*Pod, *Node, *Args) *Failure, args *Args) func(*Pod, *Nodes) *Failure {
	return func(pod *Pod, nodes *Nodes) *Failure {
		node := Node{nodes: nodes}
		for row := range nodes.Count() {
			node.row = row
			if failure := filter(pod, &node, args); failure != nil {
				nodes.RejectRow(row, failure)
			}
		}
		return nil
	}
}

// exported is what the component runs.
var exported Definition

// Export makes a predicate that of the component. Call it in `init`: `main` does not run there. A scorer is exported with Export of the
// package scoring.
func Export(predicate Definition) {
	if exported != nil {
		panic("a module exports one predicate or scorer")
	}
	// The exports of the component follow from the packages that are in it.
	switch _, scores := predicate.(ScorerDefinition); {
	case scores && !scorer.IsExported:
		panic("a scorer is exported with scoring.Export")
	case !scores && scorer.IsExported:
		panic("the module imports the package scoring, and exports no scorer")
	}
	exported = predicate
}
