package yunikorn

import (
	v1 "k8s.io/api/core/v1"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// NodeInfo is *framework.NodeInfo of k8s.io/kubernetes, or the interface NodeInfo of k8s.io/kube-scheduler.
type NodeInfo interface{ Node() *v1.Node }

// PredicateManager is the shim's interface of that name, up to YuniKorn 1.9 at least: N is the shim's NodeInfo, H its QueueingHintFn and
// E its ClusterEventWithHint.
type PredicateManager[N NodeInfo, H, E any] interface {
	EventsToRegister(queueingHintFn H) []E
	Predicates(pod *v1.Pod, node N, allocate bool) (plugin string, err error)
	PreemptionPredicates(pod *v1.Pod, node N, victims []*v1.Pod, startIndex int) (index int)
}

// Manager is a [PredicateManager] that asks a sidecar. It can be used from many goroutines.
type Manager[N NodeInfo, H, E any] struct {
	*sidecar
	own PredicateManager[N, H, E]
}

// New makes a manager that asks the sidecar of the client, and where that cannot answer the shim's own manager, or nobody:
// see [Options.Unavailable]. It begins at once, in the background, and ends with the client.
func New[N NodeInfo, H, E any](client *nodesift.Client, own PredicateManager[N, H, E], options Options) *Manager[N, H, E] {
	return &Manager[N, H, E]{sidecar: newSidecar(client, options), own: own}
}

// EventsToRegister is the own manager's. Only YuniKorn's plugin mode asks for them.
func (m *Manager[N, H, E]) EventsToRegister(queueingHintFn H) []E {
	return m.own.EventsToRegister(queueingHintFn)
}

// Predicates tells whether a pod fits a node. Where it does not, it names the predicate that rejects it; the text of the error
// is its reasons, joined as kube-scheduler joins them, and has no name of a node.
func (m *Manager[N, H, E]) Predicates(pod *v1.Pod, node N, allocate bool) (plugin string, err error) {
	plugin, why, err := m.judge(pod, node.Node(), allocate)
	if err == nil {
		return plugin, why
	}
	if rejection := m.rejection(err); rejection != nil {
		return pluginName, rejection
	}
	m.countOwn()
	plugin, err = m.own.Predicates(pod, node, allocate)
	m.noteOwn(pod, node.Node(), err)
	return plugin, err
}

// PreemptionPredicates tells how many victims have to leave a node until a pod fits: the place of the last of them, from
// startIndex on, or -1. Nil victims keep their place and count as gone.
func (m *Manager[N, H, E]) PreemptionPredicates(pod *v1.Pod, node N, victims []*v1.Pod, startIndex int) (index int) {
	index, err := m.preempt(pod, node.Node(), victims, startIndex)
	if err == nil {
		return index
	}
	if m.rejection(err) != nil {
		return -1
	}
	m.countOwn()
	return m.own.PreemptionPredicates(pod, node, victims, startIndex)
}
