package plugin

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// await tells whether somebody has to begin to wait for answers: pods wait to be judged, and nobody does yet.
func (o *outage) await() bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.awaiting || len(o.pods)+len(o.left) == 0 {
		return false
	}
	o.awaiting = true
	return true
}

// first is the pod that waits longest to be judged. Where there is none, nobody waits for answers any more.
func (o *outage) first() (of placement, waits bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if len(o.pods)+len(o.left) == 0 {
		o.awaiting = false
		return placement{}, false
	}
	return slices.Concat(o.left[:min(len(o.left), 1)], o.pods[:min(len(o.pods), 1)])[0], true
}

// leave notes that nobody waits for answers any more, though pods do.
func (o *outage) leave() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.awaiting = false
}

// awaitAnswers has the pods that wait to be judged judged once the sidecar answers: in a cluster where no pod is scheduled, no cycle finds
// that out. It asks now and then beside the cycles, for as long as pods wait.
func (s *sidecar) awaitAnswers() {
	if s.outage.await() {
		go s.askWhilePodsWait()
	}
}

func (s *sidecar) askWhilePodsWait() {
	for {
		select {
		case <-time.After(s.judgePause):
		case <-s.client.Done():
			s.outage.leave()
			return
		}
		of, waits := s.outage.first()
		if !waits {
			return
		}
		if of.plugin.answers() {
			s.breaker.progressed()
			s.judgePlaced(of.plugin.logger)
		}
	}
}

// answers asks about a pod that no cluster has, and tells whether a cycle would take the answer for one: it has come in the time of a call,
// and has what informers have shown, and all nodes. Not on the stream, where it would hold up questions of cycles, and end it where it has
// no answer.
func (p *Plugin) answers() bool {
	// After some failures gRPC connects again by itself only after a while, and calls fail until then.
	p.sidecar.client.Connect()
	ctx, cancel := context.WithTimeout(context.Background(), p.args.CallTimeout.Duration)
	defer cancel()
	pod := podOfNobody(p.handle.ProfileName())
	required, overdue := p.required()
	options := append(p.atLeast(required, overdue), nodesift.Skip(p.args.Skip...), nodesift.AllowFaults())
	set, err := p.sidecar.client.Feasible(ctx, nodesift.WholePod(pod), options...)
	if err != nil {
		p.noteUnanswered(ctx, err, required, overdue)
		return false
	}
	return p.observed.answered(set.Version(), required, overdue) && !p.lacksNodes(set)
}

// lacksNodes tells whether informers have shown nodes that an answer is not about. Pods on these cannot be judged yet.
func (p *Plugin) lacksNodes(set nodesift.Set) bool {
	factory := p.handle.SharedInformerFactory()
	if factory == nil || set.Cycle() != nodesift.CycleEachNode {
		return false
	}
	nodes, err := factory.Core().V1().Nodes().Lister().List(labels.Everything())
	return err != nil || slices.ContainsFunc(nodes, func(node *v1.Node) bool { return !set.Has(node.Name) })
}
