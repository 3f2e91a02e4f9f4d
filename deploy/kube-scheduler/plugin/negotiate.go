package plugin

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// negotiate has parties asked about the pod of a cycle that needs them. It is a rejection where the pod waits for them; the cycle goes on
// where none decides, where they have agreed, and where they have refused, which Filter says of each node.
func (c *cycle) negotiate(ctx context.Context, nodes []fwk.NodeInfo) *fwk.Status {
	p := c.plugin
	if c.standing.holds() {
		if c.standing.anyFits(c.set) {
			p.rejections.note(c.pod.UID, c.set.Failures(), true)
			return nil
		}
		// None of them is free any more.
		p.negotiations.again(c.pod.UID)
	}
	parties := c.set.Parties()
	if c.standing != nil {
		parties = c.standing.parties
	}
	if len(parties) == 0 {
		return nil
	}
	if now := p.negotiations.underWay(c.pod.UID); now != nil {
		return c.stands(now)
	}
	order := c.candidates(p.open(ctx, c.pod, nodes))
	if len(order) == 0 {
		// Others reject all of them, and say why. Where one goes through after all, nobody has agreed on it.
		c.standing = &standing{phase: asking, parties: parties}
		p.rejections.note(c.pod.UID, c.set.Failures(), true)
		return nil
	}
	now, err := p.negotiations.begin(c.pod, c.named, parties, order)
	if err != nil {
		return fwk.AsStatus(err)
	}
	return c.stands(now)
}

// stands rejects the pod of a cycle while its parties are asked.
func (c *cycle) stands(now *standing) *fwk.Status {
	c.standing = now
	c.plugin.rejections.note(c.pod.UID, c.set.Failures(), true)
	if c.waits = now.phase == asking; c.waits {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, c.standing.waiting())
	}
	return nil
}

// anyFits tells whether one of its nodes is free.
func (s *standing) anyFits(set nodesift.Set) bool {
	for node := range s.nodes {
		if set.Fits(node) {
			return true
		}
	}
	return false
}

// suits tells whether parties want a node that fits otherwise.
func (c *cycle) suits(node string) *fwk.Status {
	switch {
	case c.standing == nil:
		return nil
	case c.standing.phase == refused:
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, c.standing.why)
	case c.standing.holds() && c.standing.nodes.Has(node):
		return nil
	case c.standing.phase == allocated:
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, elsewhere(c.standing.node))
	default:
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonNotAgreed+naming(c.standing.parties))
	}
}

// negotiated is the cycle of a pod whose parties have agreed, nil for others.
func (p *Plugin) negotiated(state fwk.CycleState) *cycle {
	s, err := stateOf(state)
	if err != nil || s.inTree != nil || !s.standing.holds() {
		return nil
	}
	return s.cycle
}

// Permit waits until all parties of the pod have allocated.
func (p *Plugin) Permit(_ context.Context, state fwk.CycleState, pod *v1.Pod, node string) (*fwk.Status, time.Duration) {
	if p.negotiated(state) == nil {
		return nil, 0
	}
	return p.negotiations.permit(pod.UID, node)
}

// preFlight tells whether there is anything to confirm in PreBind. It is what the hook PreBindPreFlight returns.
func (p *Plugin) preFlight(state fwk.CycleState) *fwk.Status {
	if p.negotiated(state) == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// PreBind confirms the node of a pod whose parties have taken their time: where it does not fit any more, all is given back, and the pod
// is tried again.
func (p *Plugin) PreBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	cycle := p.negotiated(state)
	if cycle == nil {
		return nil
	}
	epoch, isReady := p.negotiations.isReady(pod.UID, node)
	if !isReady {
		return fwk.NewStatus(fwk.Unschedulable, reasonExpired)
	}
	status := p.confirm(ctx, cycle, node, epoch)
	if !status.IsSuccess() {
		p.negotiations.doubt(pod.UID, status.Message())
	}
	return status
}

// PostBind ends what is under way about the pod. Its allocations stay.
func (p *Plugin) PostBind(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) {
	if p.negotiated(state) != nil {
		p.negotiations.bound(pod.UID)
	}
}

// overWith ends what is under way about a pod that informers have shown deleted, or bound.
func (p *Plugin) overWith(pod *v1.Pod, gone bool) {
	if gone {
		p.negotiations.gone(pod.UID)
	} else {
		p.negotiations.bound(pod.UID)
	}
}
