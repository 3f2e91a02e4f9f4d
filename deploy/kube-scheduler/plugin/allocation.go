package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// Why a pod with an agreement is not placed.
const (
	reasonNotAgreed = "node(s) were not agreed on with "
	reasonExpired   = "what was agreed on with external parties has ended meanwhile"
	reasonTaken     = "none of the nodes that were agreed on with external parties is free any more"
	reasonRestarted = "nodesift has restarted since external parties began to allocate"
)

// reserve has the parties allocate for a node that a cycle has chosen, and with it, as the next best, for the others that they have
// agreed on. The epoch is that of the answer by which the node was chosen.
func (n *negotiations) reserve(uid types.UID, node string, epoch uint64) *fwk.Status {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	it := n.of[uid]
	switch {
	case it == nil || it.reserved != "":
		return fwk.NewStatus(fwk.Unschedulable, reasonExpired)
	case it.phase == allocated && it.node == node:
		it.stop()
		it.reserved = node
		return nil
	case it.phase != agreed || !slices.Contains(it.viable, node):
		return fwk.NewStatus(fwk.Unschedulable, reasonExpired)
	}
	it.stop()
	nodes := make([]string, 0, maxSelected)
	nodes = append(nodes, node)
	for _, other := range it.viable {
		if other != node && len(nodes) < maxSelected {
			nodes = append(nodes, other)
		}
	}
	ctx, cancel := context.WithTimeout(n.ctx, n.timeFor(it)+streamSlack)
	it.phase, it.reserved, it.epoch, it.call, it.cancel = allocating, node, epoch, ctx, cancel
	go n.allocate(ctx, it, it.id, it.parties, nodes, n.timeFor(it))
	return nil
}

// timeFor is the time to allocate: what the policy says of the parties, or else what the profile does. It is called with the lock.
func (n *negotiations) timeFor(it *negotiation) time.Duration {
	if it.allocation > 0 {
		return it.allocation
	}
	return n.allocation
}

// allocate follows an allocation to its end.
func (n *negotiations) allocate(
	ctx context.Context, it *negotiation, id uint64, parties, nodes []string, within time.Duration,
) {
	for event, err := range n.client.Selection(ctx, id, nodes, nodesift.AllocatedWithin(within)) {
		switch {
		case err != nil:
			// What the parties do is unknown.
			n.notAllocated(ctx, it, whyNot(parties, err), true)
			return
		case event.Err() != nil:
			n.notAllocated(ctx, it, whyFailed(parties, event.Err()), false)
			return
		case event.Allocated != "":
			n.isAllocated(ctx, it, event.Allocated)
			return
		}
	}
}

// isAllocated lets the pod go on where that is the node that is reserved.
func (n *negotiations) isAllocated(ctx context.Context, it *negotiation, node string) {
	n.mutex.Lock()
	if it.isStopped(ctx) {
		n.mutex.Unlock()
		return
	}
	it.stop()
	it.phase, it.node = allocated, node
	reserved := it.reserved
	if node == reserved {
		it.times = 0
	}
	n.mutex.Unlock()
	if node == reserved {
		allocationEnds.WithLabelValues(resultAllocated).Inc()
		n.decide(it, func(pod fwk.WaitingPod) { pod.Allow(Name) })
		return
	}
	allocationEnds.WithLabelValues(resultElsewhere).Inc()
	n.decide(it, func(pod fwk.WaitingPod) { pod.Reject(Name, elsewhere(node)) })
}

// notAllocated rejects the pod.
func (n *negotiations) notAllocated(ctx context.Context, it *negotiation, why string, givesBack bool) {
	n.mutex.Lock()
	if it.isStopped(ctx) {
		n.mutex.Unlock()
		return
	}
	if givesBack {
		n.giveBack(it)
	}
	n.refused(it, why)
	n.mutex.Unlock()
	allocationEnds.WithLabelValues(resultRefused).Inc()
	n.decide(it, func(pod fwk.WaitingPod) { pod.Reject(Name, why) })
}

// decide tells a pod that waits in Permit. The framework has it wait only a moment after Permit has said so.
func (n *negotiations) decide(it *negotiation, tell func(fwk.WaitingPod)) {
	for {
		n.mutex.Lock()
		waits := n.of[it.uid] == it && it.waits
		n.mutex.Unlock()
		// Where Permit has not run yet, it sees by itself what has become of the allocation.
		if !waits {
			return
		}
		if pod := n.handle.GetWaitingPod(it.uid); pod != nil {
			tell(pod)
			return
		}
		select {
		case <-time.After(waitingPause):
		case <-n.ctx.Done():
			return
		}
	}
}

// permit lets a pod go on once everything is allocated for its node.
func (n *negotiations) permit(uid types.UID, node string) (*fwk.Status, time.Duration) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	it := n.of[uid]
	switch {
	case it == nil || it.reserved != node:
		return fwk.NewStatus(fwk.Unschedulable, reasonExpired), 0
	case it.phase == allocating:
		it.waits = true
		// The sidecar ends it before.
		return fwk.NewStatus(fwk.Wait, (&standing{parties: it.parties}).waiting()), n.timeFor(it) + 2*streamSlack
	case it.phase == allocated && it.node == node:
		return nil, 0
	case it.phase == allocated:
		return fwk.NewStatus(fwk.Unschedulable, elsewhere(it.node)), 0
	default:
		return fwk.NewStatus(fwk.Unschedulable, it.why), 0
	}
}

// unreserve gives everything back, unless it is allocated for another node, which the next cycle takes.
func (n *negotiations) unreserve(uid types.UID) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	it := n.of[uid]
	if it == nil || it.reserved == "" {
		return
	}
	reserved := it.reserved
	it.reserved, it.waits = "", false
	switch {
	case it.phase == allocated && it.node != reserved:
		it.timer = time.AfterFunc(n.lifetime, func() { n.forsake(it) })
		n.wake(it)
	case it.phase == allocated || it.phase == allocating:
		why := it.why
		if why == "" {
			why = "the pod was not placed on " + reserved
		}
		n.giveBack(it)
		n.refused(it, why)
	}
}

// doubt notes why a pod is not bound for which everything is allocated.
func (n *negotiations) doubt(uid types.UID, why string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if it := n.of[uid]; it != nil {
		it.why = why
	}
}

// isReady tells whether everything is allocated for the node that is reserved, and by which process.
func (n *negotiations) isReady(uid types.UID, node string) (epoch uint64, isReady bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	it := n.of[uid]
	if it == nil || it.phase != allocated || it.reserved != node || it.node != node {
		return 0, false
	}
	return it.epoch, true
}

// forsake gives back what no cycle has taken.
func (n *negotiations) forsake(it *negotiation) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.has(it, allocated) && it.reserved == "" {
		n.giveBack(it)
		delete(n.of, it.uid)
		n.wake(it)
	}
}

func elsewhere(node string) string { return "external parties have allocated on " + node }

// whyFailed is why nothing is allocated, for people.
func whyFailed(parties []string, err error) string {
	var failed *nodesift.NotAllocatedError
	switch {
	case !errors.As(err, &failed):
		return whyNot(parties, err)
	case failed.Party == "":
		return "nothing is allocated: " + failed.Reason
	default:
		return fmt.Sprintf("party %s: %s", failed.Party, failed.Reason)
	}
}

// confirm asks once more about a pod on its node, by what the cluster is now: the node can have gone, be full, or be closed to it since
// it was chosen. The pod itself is there already, and does not count. What parties say does not either: they have allocated. A process
// that has begun since then has no such negotiation, and confirms nothing.
func (p *Plugin) confirm(ctx context.Context, c *cycle, node string, epoch uint64) *fwk.Status {
	if status := p.isOpen(ctx, c.pod, node); !status.IsSuccess() {
		return status
	}
	ctx, cancel := context.WithTimeout(ctx, p.sidecar.judgeTimeout)
	defer cancel()
	named := nodesift.PodUID(string(c.pod.UID))
	options := []nodesift.FeasibleOption{
		nodesift.OnNodes(node), nodesift.WithOverlay(nodesift.Overlay{RemovedPods: []nodesift.Pod{named}}), nodesift.AllowFaults(),
		nodesift.Skip(append(slices.Clip(p.args.Skip), partiesPredicate)...),
	}
	if required, overdue := p.required(); !required.none() && !overdue {
		options = append(options, nodesift.AtLeast(text(required[nodesKind]), text(required[podsKind])),
			nodesift.Patience(p.sidecar.judgeTimeout))
	}
	set, err := p.sidecar.client.Feasible(ctx, named, options...)
	if err == nil {
		err = rejectingFaults(set)
	}
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("nodesift does not confirm the node: %w", err))
	}
	if set.Epoch() != epoch {
		return fwk.NewStatus(fwk.Unschedulable, reasonRestarted)
	}
	return verdict(set, node)
}

// isOpen tells whether a node is there, as informers have shown by now, and takes the pod.
func (p *Plugin) isOpen(ctx context.Context, pod *v1.Pod, name string) *fwk.Status {
	factory := p.handle.SharedInformerFactory()
	if factory == nil {
		return nil
	}
	node, err := factory.Core().V1().Nodes().Lister().Get(name)
	if err != nil {
		return fwk.NewStatus(fwk.Unschedulable, "the node has gone")
	}
	if why := p.closed(ctx, pod)(node); why != "" {
		return fwk.NewStatus(fwk.Unschedulable, why)
	}
	return nil
}
