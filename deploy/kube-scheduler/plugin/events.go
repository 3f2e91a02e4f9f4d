package plugin

import (
	"context"
	"math/bits"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// rejections remember which predicates have rejected a pod, so that the hints of these are asked.
type rejections struct {
	mutex sync.Mutex
	of    map[types.UID]rejection
}

type rejection struct {
	predicates []string
	inTree     *inTreeCycle
	// Whether the pod waits for external parties, so that it is woken by what they say.
	parties bool
}

func (r *rejections) put(uid types.UID, by rejection) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.of == nil {
		r.of = map[types.UID]rejection{}
	}
	r.of[uid] = by
}

func (r *rejections) note(uid types.UID, failures []nodesift.Failure, parties bool) {
	if len(failures) == 0 && !parties {
		r.drop(uid)
		return
	}
	predicates := make([]string, 0, len(failures))
	for _, failure := range failures {
		if !slices.Contains(predicates, failure.Predicate) {
			predicates = append(predicates, failure.Predicate)
		}
	}
	r.put(uid, rejection{predicates: predicates, parties: parties})
}

// noteInTree remembers a cycle in which kube-scheduler's own filters decide, and which go on to reject nodes.
func (r *rejections) noteInTree(uid types.UID, cycle *inTreeCycle) {
	r.put(uid, rejection{inTree: cycle})
}

func (r *rejections) drop(uid types.UID) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.of, uid)
}

// by tells whether a predicate of kube-scheduler has rejected a pod, or, with an empty name, anything else has, or nobody knows.
func (r *rejections) by(uid types.UID, predicate string, inTree *inTree) bool {
	r.mutex.Lock()
	rejection, known := r.of[uid]
	r.mutex.Unlock()
	if rejection.inTree != nil {
		for mask := rejection.inTree.rejecting.Load(); mask != 0; mask &= mask - 1 {
			if inTree.plugins[bits.TrailingZeros64(mask)].Name() == predicate {
				return true
			}
		}
		return predicate == "" && rejection.inTree.rejecting.Load() == 0
	}
	if predicate != "" {
		return slices.Contains(rejection.predicates, predicate)
	}
	return !known || slices.ContainsFunc(rejection.predicates, func(name string) bool {
		return inTree.named(name) == nil && !(rejection.parties && name == partiesPredicate)
	})
}

// byParties tells whether external parties keep a pod from nodes.
func (r *rejections) byParties(uid types.UID) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.of[uid].parties
}

// EventsToRegister are the events of kube-scheduler's filters, each with the hint of its filter, which is asked where that
// predicate has rejected the pod; and all events of nodes and pods for predicates that kube-scheduler does not have.
func (p *Plugin) EventsToRegister(ctx context.Context) ([]fwk.ClusterEventWithHint, error) {
	events := []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.Delete | fwk.Update}, QueueingHintFn: p.hint("", nil)},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Add | fwk.Delete | fwk.Update}, QueueingHintFn: p.hint("", nil)},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}, QueueingHintFn: p.hintParties},
	}
	if p.inTree == nil {
		return events, nil
	}
	for _, plugin := range p.inTree.plugins {
		extensions, ok := plugin.(fwk.EnqueueExtensions)
		if !ok {
			continue
		}
		registered, err := extensions.EventsToRegister(ctx)
		if err != nil {
			return nil, err
		}
		for _, event := range registered {
			event.QueueingHintFn = p.hint(plugin.Name(), event.QueueingHintFn)
			events = append(events, event)
		}
	}
	return events, nil
}

// hintParties brings a pod back that parties have refused all nodes of, where there is another. While they are asked, what they say does.
func (p *Plugin) hintParties(_ klog.Logger, pod *v1.Pod, _, node any) (fwk.QueueingHint, error) {
	p.observed.see(node)
	if p.rejections.byParties(pod.UID) && !p.negotiations.isAsking(pod.UID) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// hint asks a filter's own hint where that filter has rejected the pod.
func (p *Plugin) hint(predicate string, own fwk.QueueingHintFn) fwk.QueueingHintFn {
	return func(logger klog.Logger, pod *v1.Pod, old, new any) (fwk.QueueingHint, error) {
		// Whatever brings the pod back, the next answer must have seen.
		p.see(old, new)
		if !p.rejections.by(pod.UID, predicate, p.inTree) {
			return fwk.QueueSkip, nil
		}
		if own == nil {
			return fwk.Queue, nil
		}
		return own(logger, pod, old, new)
	}
}

// hinted is an event, by its objects.
type hinted struct{ old, new any }

// see notes the version of what an event is about. The older of two states can have a version of before versions went back. Hints are
// asked about each event for every pod that waits, under the queue's lock, so the same one is looked at once.
func (p *Plugin) see(old, new any) {
	event := hinted{old, new}
	if last := p.hinted.Load(); last != nil && *last == event {
		return
	}
	defer p.hinted.Store(&event)
	before, _ := old.(*v1.Pod)
	switch of := new.(type) {
	case *v1.Pod:
		p.seePod(before, of, false)
	case nil:
		// That is said too of a placement that has failed and of a nomination that has ended: what the ledger has, the informer ends.
		if before == nil || countsForOthers(before) || p.sidecar.ledger.holds(before.UID) {
			p.observed.see(old)
		}
	default:
		p.observed.see(new)
	}
}
