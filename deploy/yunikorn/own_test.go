package yunikorn_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// nodeInfo, hint, event and cycleState stand for the types that the shim takes from Kubernetes' scheduler.
type nodeInfo struct{ node *v1.Node }

func (n *nodeInfo) Node() *v1.Node { return n.node }

type (
	hint       func(pod *v1.Pod) error
	event      struct{ hint hint }
	cycleState struct{ of types.UID }
	empty      struct{}
)

// released is the shim's interface up to YuniKorn 1.9, and newest the one with PreFilter and Filter.
type (
	released interface {
		EventsToRegister(queueingHintFn hint) []event
		Predicates(pod *v1.Pod, node *nodeInfo, allocate bool) (plugin string, error error)
		PreemptionPredicates(pod *v1.Pod, node *nodeInfo, victims []*v1.Pod, startIndex int) (index int)
	}
	newest interface {
		EventsToRegister(queueingHintFn hint) []event
		PreFilter(pod *v1.Pod, allocate bool) (map[string]*empty, *cycleState, error)
		Filter(pod *v1.Pod, node *nodeInfo, state *cycleState, allocate bool) (string, error)
		PreemptionFilter(pod *v1.Pod, node *nodeInfo, state *cycleState, victims []*v1.Pod, startIndex int) int
	}
)

// own is the shim's own manager: everything fits, and it notes who asked.
type own struct {
	mutex sync.Mutex
	calls []string
}

const ownIndex = 5

func (o *own) note(call string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.calls = append(o.calls, call)
}

// taken returns the calls since the last time.
func (o *own) taken() []string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	calls := o.calls
	o.calls = nil
	return calls
}

func (o *own) EventsToRegister(of hint) []event { return []event{{of}} }

func (o *own) Predicates(_ *v1.Pod, node *nodeInfo, _ bool) (string, error) {
	o.note("Predicates " + node.node.Name)
	return "", nil
}

func (o *own) PreemptionPredicates(_ *v1.Pod, node *nodeInfo, _ []*v1.Pod, _ int) int {
	o.note("PreemptionPredicates " + node.node.Name)
	return ownIndex
}

func (o *own) PreFilter(pod *v1.Pod, _ bool) (map[string]*empty, *cycleState, error) {
	o.note("PreFilter")
	return map[string]*empty{"named": {}}, &cycleState{pod.UID}, nil
}

func (o *own) Filter(_ *v1.Pod, node *nodeInfo, state *cycleState, _ bool) (string, error) {
	o.note("Filter " + node.node.Name + " " + string(state.of))
	return "", nil
}

func (o *own) PreemptionFilter(_ *v1.Pod, node *nodeInfo, state *cycleState, _ []*v1.Pod, _ int) int {
	o.note("PreemptionFilter " + node.node.Name + " " + string(state.of))
	return ownIndex
}

type manager = yunikorn.Manager[*nodeInfo, hint, event]

// The compiler infers the types from the interface, as it does in the shim.
func newManager(client *nodesift.Client, of released, options yunikorn.Options) *manager {
	if options.Timeout == 0 {
		options.Timeout = scaled(5 * time.Second)
	}
	return yunikorn.New(client, of, options)
}

var (
	_ released = (*manager)(nil)
	_ newest   = (*yunikorn.Staged[*nodeInfo, *cycleState, *empty, hint, event])(nil)
)

// aLongTime is an age that no answer of a test reaches.
const aLongTime = time.Hour

func pod(name, version string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name), ResourceVersion: version}}
}

func info(name, version string) *nodeInfo {
	return &nodeInfo{&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}}
}

// ask asks about a pod on a node and expects a failure, or that it fits (0).
func ask(t testing.TB, m *manager, of *v1.Pod, node *nodeInfo, allocate bool, failure int) {
	t.Helper()
	plugin, err := m.Predicates(of, node, allocate)
	switch {
	case failure == 0 && (plugin != "" || err != nil):
		t.Fatalf("%s does not fit %s: %q %v", of.Name, node.node.Name, plugin, err)
	case failure > 0 && (plugin != failures[failure-1].Predicate || err == nil || err.Error() != texts[failure-1]):
		t.Fatalf("%s on %s: %q %v, expected %q", of.Name, node.node.Name, plugin, err, texts[failure-1])
	}
}

func expect[T comparable](t testing.TB, what string, is, expected T) {
	t.Helper()
	if is != expected {
		t.Fatalf("%s: %v, expected %v", what, is, expected)
	}
}

func expectCalls(t testing.TB, o *own, expected ...string) {
	t.Helper()
	if calls := o.taken(); !slices.Equal(calls, expected) {
		t.Fatalf("the own manager was asked %q, expected %q", calls, expected)
	}
}
