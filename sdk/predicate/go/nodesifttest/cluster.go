// Package nodesifttest tests predicates and scorers with plain pods and nodes, without wasm and without a sidecar. Start at [Cluster].
//
// The same code of the SDK runs as in a component; only the functions of the host are those of this package.
package nodesifttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// Cluster is a pod, nodes, and pods on them. Its fields are those of `cases.yaml`. Every function of the contract is answered from them.
type Cluster struct {
	Pod   Pod
	Nodes []Node
	// Pods are pods on nodes: each has the NodeName of its node.
	Pods []Pod
	// Namespaces are the labels of Namespaces by name, besides those that pods give with NamespaceLabels.
	Namespaces map[string]Texts
	// SchedulerNames are the schedulers whose pods are not foreign; `default-scheduler` where it is nil.
	SchedulerNames []string
	// DeviceClassResources are extended resources that DeviceClasses of the cluster provide.
	DeviceClassResources []string
	// Now is the moment of the evaluation, in seconds since 1970.
	Now int64
	// ConfigMaps are the entries of those that a policy lists, by `namespace/name`.
	ConfigMaps map[string]Texts
	// Facts may replace any function of those that are made from the fields.
	Facts func(host *facts.Host)
	// IsClusterWide leaves out the check that the verdict for a node does not depend on the others: the predicate reads `cluster-…`.
	IsClusterWide bool
}

// Args are arguments as a policy gives them.
type Args = map[string]any

// Line is what a predicate has written in the log.
type Line struct {
	Level facts.LogLevel
	Text  string
}

// Evaluation is what a predicate has done.
type Evaluation struct {
	// Rejected are the rejected nodes in their order, each as `name: reason; reason`.
	Rejected []string
	// Failures has the failure of each node; nil where it fits.
	Failures []*nodesift.Failure
	// Lines are those of the log.
	Lines []Line
}

// oneAtATime lets one evaluation run at a time: the functions of the host are those of the whole program.
var oneAtATime sync.Mutex

// Rejected gives the rejected nodes in their order, each as `name: reason; reason`. The test fails where the arguments are refused, or the
// verdict for a node depends on the other nodes.
func (c Cluster) Rejected(t testing.TB, predicate nodesift.Definition, args Args) []string {
	t.Helper()
	done, err := c.Evaluate(predicate, args)
	if err != nil {
		t.Fatal(err)
	}
	return done.Rejected
}

// Evaluate gives all that the predicate has done, or why its arguments are refused.
func (c Cluster) Evaluate(predicate nodesift.Definition, args Args) (Evaluation, error) {
	if args == nil {
		args = Args{}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return Evaluation{}, err
	}
	return c.evaluate(predicate, string(text))
}

// evaluate is Evaluate with arguments as JSON.
func (c Cluster) evaluate(predicate nodesift.Definition, args string) (Evaluation, error) {
	return both(c, predicate, args, Cluster.run, func(all, alone Evaluation, row int) error {
		if said(alone.Failures[0]) == said(all.Failures[row]) {
			return nil
		}
		return fmt.Errorf("the verdict for the node %s depends on the other nodes: %s; without them, %s",
			c.Nodes[row].Name, said(all.Failures[row]), said(alone.Failures[0]))
	})
}

// both calls a definition for all nodes, and, unless the cluster is read as a whole, for each alone: the host may ask about any node again,
// and differs says where that gives something else.
func both[T any](
	c Cluster, definition nodesift.Definition, args string,
	run func(Cluster, nodesift.Configured, []Node) (T, error), differs func(all, alone T, row int) error,
) (T, error) {
	var none T
	for _, pod := range c.Pods {
		if !slices.ContainsFunc(c.Nodes, func(node Node) bool { return node.Name == pod.NodeName }) {
			return none, fmt.Errorf("the pod %q of the cluster has the NodeName %q: there is no such node", pod.Name, pod.NodeName)
		}
	}
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	configured, err := nodesift.Configure(definition, args)
	if err != nil {
		return none, err
	}
	all, err := run(c, configured, c.Nodes)
	if err != nil || c.IsClusterWide {
		return all, err
	}
	for row := range c.Nodes {
		alone, err := run(c, configured, c.Nodes[row:row+1])
		if err == nil {
			err = differs(all, alone, row)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func said(failure *nodesift.Failure) string {
	if failure == nil {
		return "it fits"
	}
	return fmt.Sprintf("%d: %s", failure.Status, failure)
}

// bind makes the functions of the host those of the cluster with these nodes, until it is undone. Lines go into `lines`.
func (c Cluster) bind(nodes []Node, sets *rowSets, lines *[]Line) (undo func()) {
	host := facts.Empty(len(nodes))
	c.Pod.add(&host)
	addNodes(&host, c.Pod, nodes, sets)
	c.running(nodes).add(&host, sets)
	host.ClusterCandidatesFeasible = func() []uint8 {
		// In other calls nothing is known of other predicates.
		return each(nodes, func(n Node) uint8 { return flag(!n.Infeasible || !sets.isScoring) })
	}
	host.TimePassed = func(at int64) bool { return c.Now >= at }
	host.ConfigMapsEntry = func(configMap, key string) (string, bool) { return of(c.ConfigMaps[configMap])(key) }
	host.LogWrite = func(level facts.LogLevel, text string) { *lines = append(*lines, Line{level, text}) }
	if c.Facts != nil {
		c.Facts(&host)
	}
	before := facts.Bind(host)
	return func() { facts.Bind(before) }
}

func (c Cluster) run(configured nodesift.Configured, nodes []Node) (Evaluation, error) {
	var done Evaluation
	sets := &rowSets{failures: make([]*nodesift.Failure, len(nodes))}
	defer c.bind(nodes, sets, &done.Lines)()
	verdict := configured.Run(len(nodes))
	if verdict.Codes != nil && len(verdict.Codes) != len(nodes) {
		return done, fmt.Errorf("the verdict has %d codes for %d rows", len(verdict.Codes), len(nodes))
	}
	done.Failures = sets.failures
	for row, node := range nodes {
		if done.Failures[row] == nil {
			done.Failures[row] = verdict.FitsNone
		}
		if verdict.Codes != nil && verdict.Codes[row] != 0 && done.Failures[row] == nil {
			if int(verdict.Codes[row]) > len(verdict.Failures) {
				return done, fmt.Errorf("the verdict has the code %d and %d failures", verdict.Codes[row], len(verdict.Failures))
			}
			done.Failures[row] = verdict.Failures[verdict.Codes[row]-1]
		}
		if failure := done.Failures[row]; failure != nil {
			done.Rejected = append(done.Rejected, node.Name+": "+strings.Join(failure.Reasons, "; "))
		}
	}
	return done, nil
}

// Equal fails the test where the rejected nodes, or the scores, are not those that are expected.
func Equal(t testing.TB, found []string, expected ...string) {
	t.Helper()
	if !slices.Equal(found, expected) {
		t.Fatalf("found are\n  %s\nexpected are\n  %s", strings.Join(found, "\n  "), strings.Join(expected, "\n  "))
	}
}
