package yunikorn

import (
	v1 "k8s.io/api/core/v1"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// StagedPredicateManager is the shim's interface PredicateManager with PreFilter and Filter, as YUNIKORN-3300 proposes: N is the shim's NodeInfo, S its CycleState,
// M the value of its map of nodes (*si.Empty), H its QueueingHintFn and E its ClusterEventWithHint.
type StagedPredicateManager[N NodeInfo, S, M, H, E any] interface {
	EventsToRegister(queueingHintFn H) []E
	PreFilter(pod *v1.Pod, allocate bool) (feasible map[string]M, state S, err error)
	Filter(pod *v1.Pod, node N, state S, allocate bool) (plugin string, err error)
	PreemptionFilter(pod *v1.Pod, node N, state S, victims []*v1.Pod, startIndex int) (index int)
}

// Staged is a [StagedPredicateManager] that asks a sidecar. It can be used from many goroutines.
//
// PreFilter stays the shim's own: what it leaves in the CycleState is read when volumes and resource claims are reserved, and
// the nodes that it names are all that the core looks at, for reservations too. So the nodes on which a pod fits now must not
// take their place.
type Staged[N NodeInfo, S, M, H, E any] struct {
	*sidecar
	own StagedPredicateManager[N, S, M, H, E]
}

// NewStaged makes a manager that asks the sidecar of the client, as [New] does.
func NewStaged[N NodeInfo, S, M, H, E any](
	client *nodesift.Client, own StagedPredicateManager[N, S, M, H, E], options Options,
) *Staged[N, S, M, H, E] {
	return &Staged[N, S, M, H, E]{sidecar: newSidecar(client, options), own: own}
}

// EventsToRegister is the own manager's.
func (m *Staged[N, S, M, H, E]) EventsToRegister(queueingHintFn H) []E {
	return m.own.EventsToRegister(queueingHintFn)
}

// PreFilter is the own manager's.
func (m *Staged[N, S, M, H, E]) PreFilter(pod *v1.Pod, allocate bool) (feasible map[string]M, state S, err error) {
	return m.own.PreFilter(pod, allocate)
}

// Filter is [Manager.Predicates] of this interface. A pod with claims that fits is asked about again at the own manager, which
// notes in the state what it would reserve on the node.
func (m *Staged[N, S, M, H, E]) Filter(pod *v1.Pod, node N, state S, allocate bool) (plugin string, err error) {
	plugin, why, err := m.judge(pod, node.Node(), allocate)
	if err == nil && (why != nil || !hasClaims(pod)) {
		return plugin, why
	}
	if err == nil {
		return m.own.Filter(pod, node, state, allocate)
	}
	if rejection := m.rejection(err); rejection != nil {
		return pluginName, rejection
	}
	m.countOwn()
	plugin, err = m.own.Filter(pod, node, state, allocate)
	m.noteOwn(pod, node.Node(), err)
	return plugin, err
}

// PreemptionFilter is [Manager.PreemptionPredicates] of this interface.
func (m *Staged[N, S, M, H, E]) PreemptionFilter(pod *v1.Pod, node N, state S, victims []*v1.Pod, startIndex int) (index int) {
	index, err := m.preempt(pod, node.Node(), victims, startIndex)
	if err == nil {
		return index
	}
	if m.rejection(err) != nil {
		return -1
	}
	m.countOwn()
	return m.own.PreemptionFilter(pod, node, state, victims, startIndex)
}

// hasClaims tells whether plugins keep for the pod, in the CycleState, what they would reserve on a node.
func hasClaims(pod *v1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 {
		return true
	}
	for at := range pod.Spec.Volumes {
		if volume := &pod.Spec.Volumes[at]; volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
			return true
		}
	}
	return false
}
