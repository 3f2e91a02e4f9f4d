package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// Reserve notes that the pod counts on the node, and sends that without waiting. The next request on the stream sees it; where it
// was lost or refused, that request says it again, and no pod is bound on an answer that lacks it.
//
// Where external parties have agreed on nodes, they allocate from now on, and Permit waits for them.
func (p *Plugin) Reserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	known := false
	negotiated := p.negotiated(state)
	if s, err := stateOf(state); err == nil {
		// The pod as it was asked about: the other one has the node in its spec already.
		pod, known = s.pod, s.known && s.inTree == nil
		if s.unanswered {
			p.sidecar.outage.note(placement{p, pod, node})
			p.sidecar.awaitAnswers()
		}
	}
	p.rejections.drop(pod.UID)
	p.nominations.drop(pod.UID)
	p.sidecar.ledger.reserve(pod, node, known)
	p.send(ctx)
	if negotiated == nil {
		// Where it is placed without its parties, they are not asked any more.
		p.negotiations.gone(pod.UID)
		return nil
	}
	// Where it is rejected from here on, that is by them.
	p.rejections.note(pod.UID, nil, true)
	return p.negotiations.reserve(pod.UID, node, negotiated.set.Epoch())
}

// Unreserve notes that the pod does not count on the node any more.
func (p *Plugin) Unreserve(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	p.sidecar.outage.drop(pod.UID)
	p.negotiations.unreserve(pod.UID)
	if p.sidecar.ledger.unreserve(pod.UID) {
		p.send(ctx)
	}
}

// send sends what the sidecar has not been told, where that is so little that the next question does not wait for long behind it. While
// it does not answer, the ledger keeps it.
func (p *Plugin) send(ctx context.Context) {
	if p.sidecar.breaker.open() {
		return
	}
	if p.sidecar.manyOwed(0) {
		return
	}
	options, changes := p.sidecar.ledger.unsent(0, maxChangesWithQuestion)
	if len(changes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.args.CallTimeout.Duration)
	defer cancel()
	p.sidecar.stream.Change(ctx, func(outcome nodesift.Changes, err error) {
		p.sidecar.ledger.settle(changes, outcome, err)
	}, options...)
}
