// Package nodesifttest tests predicates with plain pods and nodes, without wasm and without a sidecar. Start at [Cluster].
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
	for _, pod := range c.Pods {
		if !slices.ContainsFunc(c.Nodes, func(node Node) bool { return node.Name == pod.NodeName }) {
			return Evaluation{}, fmt.Errorf("the pod %q of the cluster has the NodeName %q: there is no such node", pod.Name, pod.NodeName)
		}
	}
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	configured, err := nodesift.Configure(predicate, args)
	if err != nil {
		return Evaluation{}, err
	}
	done, err := c.run(configured, c.Nodes)
	if err != nil || c.IsClusterWide {
		return done, err
	}
	for row, node := range c.Nodes {
		// The host may evaluate any node again, alone: the verdict must be the same.
		alone, err := c.run(configured, []Node{node})
		if err != nil {
			return done, err
		}
		if said(alone.Failures[0]) != said(done.Failures[row]) {
			return done, fmt.Errorf("the verdict for the node %s depends on the other nodes: %s; without them, %s",
				node.Name, said(done.Failures[row]), said(alone.Failures[0]))
		}
	}
	return done, nil
}

func said(failure *nodesift.Failure) string {
	if failure == nil {
		return "it fits"
	}
	return fmt.Sprintf("%d: %s", failure.Status, failure)
}

func (c Cluster) run(configured nodesift.Configured, nodes []Node) (Evaluation, error) {
	var done Evaluation
	sets := &rowSets{failures: make([]*nodesift.Failure, len(nodes))}
	host := facts.Empty(len(nodes))
	c.Pod.add(&host)
	addNodes(&host, c.Pod, nodes, sets)
	c.running(nodes).add(&host, sets)
	host.TimePassed = func(at int64) bool { return c.Now >= at }
	host.ConfigMapsEntry = func(configMap, key string) (string, bool) { return of(c.ConfigMaps[configMap])(key) }
	host.LogWrite = func(level facts.LogLevel, text string) { done.Lines = append(done.Lines, Line{level, text}) }
	if c.Facts != nil {
		c.Facts(&host)
	}
	before := facts.Bind(host)
	defer facts.Bind(before)
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

// Equal fails the test where the rejected nodes are not those that are expected.
func Equal(t testing.TB, rejected []string, expected ...string) {
	t.Helper()
	if !slices.Equal(rejected, expected) {
		t.Fatalf("rejected are\n  %s\nexpected are\n  %s", strings.Join(rejected, "\n  "), strings.Join(expected, "\n  "))
	}
}
