package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// errManyNegotiations: a pod for which there is no place is tried again after its back-off.
var errManyNegotiations = errors.New("too many pods wait for external parties")

// errSelected: somebody else has selected a node for the pod. It is tried again after a pause, as after a no.
var errSelected = errors.New("the negotiation has ended by a selection")

// phase is what a pod waits for that external parties decide about.
type phase int

const (
	// Parties are asked. The pod waits, and is woken at the end.
	asking phase = iota
	// They have agreed on nodes, one of which the next cycle takes.
	agreed
	// A cycle has reserved a node, and they allocate.
	allocating
	// They have allocated, for the node that is reserved or for another, which the next cycle takes.
	allocated
	// There is no agreement, or nothing could be allocated. After a pause they are asked again.
	refused
)

// negotiation is what is under way about a pod. It changes with the lock of [negotiations].
type negotiation struct {
	// The UID of the pod, which does not change.
	uid       types.UID
	namespace string
	pod       *v1.Pod
	parties   []string
	phase     phase
	// The id in the sidecar; 0 before it is known, and where nothing is to be given back.
	id uint64
	// Names in the order of its own that parties are asked by.
	names int
	// Names in the order that the sidecar was sent.
	sent int
	// The time to allocate by the policy, if that says so.
	allocation time.Duration
	// The nodes that were agreed on, in the order of the candidates.
	viable []string
	// The node that is reserved for the pod, if any, and whether Permit waits there.
	reserved string
	waits    bool
	// Where everything is allocated.
	node string
	// Why there is nothing, for people; and how often in a row, and until when nobody is asked again.
	why   string
	times int
	until time.Time
	// The process that allocates, or has.
	epoch uint64
	// What was said last of why there was no agreement.
	said string
	// The call that is open, and what ends its stream.
	call   context.Context
	cancel context.CancelFunc
	// What happens if nothing else does: the next try, or the end of an agreement.
	timer *time.Timer
}

// negotiations are those of one profile. Each call about a pod has a stream of events, whose end wakes that pod and no other.
type negotiations struct {
	ctx    context.Context
	client *nodesift.Client
	handle fwk.Handle
	logger klog.Logger
	// Times for an agreement and for an allocation, and pauses after one that there was not.
	deadline, allocation, pause, maxPause, lifetime time.Duration

	// Time to give a negotiation up, and the pause before that is tried again.
	releaseTime, releasePause time.Duration

	// Words of parties are followed from the first negotiation on.
	following sync.Once

	mutex sync.Mutex
	of    map[types.UID]*negotiation
	// The order of the last negotiation, which others share.
	lastOrder []string
}

func newNegotiations(ctx context.Context, p *Plugin) *negotiations {
	return &negotiations{
		ctx: ctx, client: p.sidecar.client, handle: p.handle, logger: p.logger,
		deadline: p.args.NegotiationTimeout.Duration, allocation: p.args.AllocationTimeout.Duration,
		pause: negotiationPause, maxPause: maxNegotiationPause, lifetime: agreementLifetime,
		releaseTime: releaseTimeout, releasePause: releasePause,
		of: map[types.UID]*negotiation{},
	}
}

// standing is what a cycle sees of a negotiation.
type standing struct {
	phase   phase
	parties []string
	// The nodes of an agreement, or the one for which everything is allocated.
	nodes sets.Set[string]
	// The latter.
	node string
	// Why there are none, or were none the last time.
	why string
}

// holds tells whether a pod may be placed on a node of it.
func (s *standing) holds() bool { return s != nil && (s.phase == agreed || s.phase == allocated) }

// waiting is what is said of a pod for which parties are asked.
func (s *standing) waiting() string {
	if s.why == "" {
		return "waiting for " + naming(s.parties)
	}
	return "waiting for " + naming(s.parties) + "; the last time: " + s.why
}

func naming(parties []string) string {
	if len(parties) == 1 {
		return "party " + parties[0]
	}
	return "parties " + strings.Join(parties, ", ")
}

// standing is that of a pod now; nil where nothing is under way.
func (n *negotiations) standing(uid types.UID) *standing {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	it := n.of[uid]
	if it == nil {
		return nil
	}
	of := &standing{phase: it.phase, parties: it.parties, why: it.why}
	switch it.phase {
	case agreed:
		of.nodes = sets.New(it.viable...)
	case allocated:
		of.nodes, of.node = sets.New(it.node), it.node
	}
	return of
}

// isAsking tells whether the end of a negotiation wakes the pod, so that no event of the cluster has to.
func (n *negotiations) isAsking(uid types.UID) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	it := n.of[uid]
	return it != nil && it.phase == asking
}

// underWay is what a cycle sees where parties are asked, or a pause goes on; nil where they can be asked. A cycle that has begun before the
// end of a negotiation has woken the pod waits, too: the end brings it back.
func (n *negotiations) underWay(uid types.UID) *standing {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.of[uid].underWay()
}

// underWay is called with the lock.
func (it *negotiation) underWay() *standing {
	switch {
	case it == nil:
		return nil
	case it.phase != refused:
		return &standing{phase: asking, parties: it.parties, why: it.said}
	case time.Now().Before(it.until):
		return &standing{phase: refused, parties: it.parties, why: it.why}
	default:
		return nil
	}
}

// followWords wakes pods that parties have refused as soon as these may say something else, and no others.
func (n *negotiations) followWords() {
	for n.ctx.Err() == nil {
		for word, err := range n.client.PartyWords(n.ctx) {
			if err != nil {
				n.logger.V(4).Info("nodesift does not say what parties say", "err", err)
				break
			}
			for _, uid := range word.Pods {
				n.reconsider(types.UID(uid))
			}
		}
		select {
		case <-time.After(followPause):
		case <-n.ctx.Done():
		}
	}
}

// reconsider ends the pause after a no.
func (n *negotiations) reconsider(uid types.UID) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if it := n.of[uid]; it != nil && it.phase == refused {
		it.until = time.Time{}
		n.wake(it)
	}
}

// begin has the parties of a pod asked about nodes, unless they are or a pause goes on, and is what the cycle sees then.
func (n *negotiations) begin(pod *v1.Pod, named nodesift.Pod, parties, order []string) (*standing, error) {
	n.following.Do(func() { go n.followWords() })
	n.mutex.Lock()
	defer n.mutex.Unlock()
	it := n.of[pod.UID]
	if standing := it.underWay(); standing != nil {
		return standing, nil
	}
	if n.isFull(pod.Namespace, it == nil) {
		return nil, errManyNegotiations
	}
	if it == nil {
		it = &negotiation{uid: pod.UID, namespace: pod.Namespace}
		n.of[pod.UID] = it
	}
	it.stop()
	ctx, cancel := context.WithTimeout(n.ctx, n.deadline+streamSlack)
	it.pod, it.parties, it.phase, it.id, it.viable, it.why = pod, parties, asking, 0, nil, ""
	it.call, it.cancel = ctx, cancel
	go n.ask(ctx, it, named, parties, n.ordered(it, order))
	return it.underWay(), nil
}

// isFull tells whether there is no place for a negotiation of a pod of the namespace, which is remembered already unless it is new. It is
// called with the lock.
func (n *negotiations) isFull(namespace string, isNew bool) bool {
	open, openOfIts, ofIts := 0, 0, 0
	for _, it := range n.of {
		isIts, isOpen := it.namespace == namespace, it.phase != refused
		if isIts {
			ofIts++
		}
		if isOpen {
			open++
		}
		if isIts && isOpen {
			openOfIts++
		}
	}
	if isNew && (len(n.of) >= maxRefused || ofIts >= maxRefused/namespaceShare) {
		return true
	}
	return open >= maxNegotiations || openOfIts >= maxNegotiations/namespaceShare ||
		n.bytes(namespace, nil) >= sidecarBytes/namespaceShare
}

// bytes is what the sidecar counts for the pods of a namespace but one. It is called with the lock.
func (n *negotiations) bytes(namespace string, but *negotiation) int {
	held := 0
	for _, it := range n.of {
		if it != but && it.namespace == namespace && it.phase != refused {
			held += it.bytes(it.sent)
		}
	}
	return held
}

// bytes is what the sidecar counts for the negotiation with so many names in its order.
func (it *negotiation) bytes(names int) int {
	return negotiationBytes + len(it.parties)*seatBytes + names*nameBytes
}

// isThere tells whether a pod waits still, as far as informers have shown.
func (n *negotiations) isThere(pod *v1.Pod) bool {
	factory := n.handle.SharedInformerFactory()
	if factory == nil {
		return true
	}
	shown, err := factory.Core().V1().Pods().Lister().Pods(pod.Namespace).Get(pod.Name)
	return err == nil && shown.UID == pod.UID && shown.Spec.NodeName == ""
}

// stop ends the open call and the timer. It is called with the lock.
func (it *negotiation) stop() {
	if it.cancel != nil {
		it.cancel()
		it.call, it.cancel = nil, nil
	}
	if it.timer != nil {
		it.timer.Stop()
		it.timer = nil
	}
}

// isStopped tells whether a call is not that of its negotiation any more, or the scheduler is ending. It is called with the lock, with
// which calls are stopped.
func (it *negotiation) isStopped(call context.Context) bool {
	return it.call != call || errors.Is(call.Err(), context.Canceled)
}

// ask follows a negotiation to its end.
func (n *negotiations) ask(ctx context.Context, it *negotiation, named nodesift.Pod, parties, order []string) {
	options := []nodesift.NegotiateOption{nodesift.Order(order...), nodesift.Within(n.deadline, 0)}
	err := n.follow(ctx, it, named, options)
	if id := nodesift.Negotiating(err); id != 0 {
		// This scheduler has restarted, or has given it up a moment ago, and it is not over there yet.
		err = n.follow(ctx, it, named, append(options, nodesift.Supersedes(id)))
	}
	if err != nil {
		n.refuse(ctx, it, whyNot(parties, err))
	}
}

// follow reads the events of a call. Without an error there is an agreement.
func (n *negotiations) follow(ctx context.Context, it *negotiation, named nodesift.Pod, options []nodesift.NegotiateOption) error {
	var viable []string
	var allocation time.Duration
	for event, err := range n.client.Negotiation(ctx, named, options...) {
		if err == nil {
			err = event.Err()
		}
		if err != nil {
			return err
		}
		if event.Asked != nil {
			allocation = event.Asked.Allocate
		}
		if event.Viable != nil {
			viable = event.Viable
		}
		if event.Agreed {
			n.agree(ctx, it, event.ID, viable, allocation)
			return nil
		}
	}
	return errSelected
}

// agree notes an agreement, and wakes the pod.
func (n *negotiations) agree(ctx context.Context, it *negotiation, id uint64, viable []string, allocation time.Duration) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if it.isStopped(ctx) {
		// Nobody selects it: it ends by itself.
		return
	}
	it.stop()
	negotiationEnds.WithLabelValues(resultAgreed).Inc()
	it.phase, it.id, it.viable, it.allocation = agreed, id, viable, allocation
	it.timer = time.AfterFunc(n.lifetime, func() { n.expire(it) })
	n.wake(it)
}

// expire ends an agreement that no cycle has taken, and has the next one ask again.
func (n *negotiations) expire(it *negotiation) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.has(it, agreed) {
		n.giveBack(it)
		delete(n.of, it.uid)
		n.wake(it)
	}
}

// refuse notes that there is nothing, and wakes the pod: now, to say why where that is new, and after a pause, to try again.
func (n *negotiations) refuse(ctx context.Context, it *negotiation, why string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if it.isStopped(ctx) {
		return
	}
	negotiationEnds.WithLabelValues(resultRefused).Inc()
	n.refused(it, why)
	if it.said != why {
		it.said = why
		n.wake(it)
	}
}

// refused is called with the lock.
func (n *negotiations) refused(it *negotiation, why string) {
	it.stop()
	pause := min(n.pause<<min(it.times, 16), n.maxPause)
	it.phase, it.id, it.viable, it.why, it.until = refused, 0, nil, why, time.Now().Add(pause)
	it.times++
	it.timer = time.AfterFunc(pause, func() {
		n.mutex.Lock()
		defer n.mutex.Unlock()
		switch {
		case !n.has(it, refused):
		case n.isThere(it.pod):
			n.wake(it)
		default:
			// It was deleted before anything was under way about it.
			delete(n.of, it.uid)
		}
	})
}

// again ends an agreement of which no node can be taken any more, so that parties can be asked anew: at once the first time in a row, and
// after the pause of a no from then on.
func (n *negotiations) again(uid types.UID) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if it := n.of[uid]; it != nil && it.reserved == "" {
		isFirst := it.times == 0
		n.giveBack(it)
		n.refused(it, reasonTaken)
		if isFirst {
			it.until = time.Time{}
		}
	}
}

// gone ends what is under way about a pod that is deleted, or placed without its parties.
func (n *negotiations) gone(uid types.UID) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if it := n.of[uid]; it != nil {
		n.giveBack(it)
		delete(n.of, uid)
	}
}

// bound ends what is under way about a pod that is bound: what is allocated stays so.
func (n *negotiations) bound(uid types.UID) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if it := n.of[uid]; it != nil {
		it.stop()
		delete(n.of, uid)
	}
}

// giveBack ends the open call, and has the sidecar give back what the parties hold for the pod. It is called with the lock. Where the
// sidecar is not told, the next negotiation of the pod takes the place of this one, or the end of the pod ends it there.
func (n *negotiations) giveBack(it *negotiation) {
	it.stop()
	id, pod := it.id, klog.KObj(it.pod)
	if it.id = 0; id == 0 {
		return
	}
	go func() {
		pause := n.releasePause
		for try := 1; ; try++ {
			err := n.release(id)
			switch {
			case err == nil || errors.Is(err, nodesift.ErrNotFound):
				return
			case try == releaseTries:
				n.logger.Error(err, "nodesift has not been told that a negotiation is given up", "pod", pod)
				return
			}
			select {
			case <-time.After(pause):
				pause *= 2
			case <-n.ctx.Done():
				return
			}
		}
	}()
}

// release gives a negotiation up, also where the scheduler is ending.
func (n *negotiations) release(id uint64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), n.releaseTime)
	defer cancel()
	return n.client.Release(ctx, id)
}

// ordered is the order of a negotiation that begins: that of the last one where it is the same, as it is for most pods, and one of its own
// otherwise, which is short where those of others are many, or its namespace has much of what the sidecar holds. It is called with the lock.
func (n *negotiations) ordered(it *negotiation, order []string) []string {
	it.names = 0
	if len(order) > roundOrder &&
		n.bytes(it.namespace, it)+it.bytes(len(order)) > sidecarBytes/namespaceShare/longOrders {
		order = slices.Clone(order[:roundOrder])
		it.names, it.sent = len(order), len(order)
		return order
	}
	it.sent = len(order)
	if slices.Equal(n.lastOrder, order) {
		return n.lastOrder
	}
	held := 0
	for _, other := range n.of {
		if other != it && other.phase == asking {
			held += other.names
		}
	}
	if held+len(order) > maxOrderNames && len(order) > roundOrder {
		order = slices.Clone(order[:roundOrder])
	} else {
		n.lastOrder = order
	}
	it.names, it.sent = len(order), len(order)
	return order
}

// wake has the scheduler try the pod, also where it is in a cycle at this moment. It is called with the lock.
func (n *negotiations) wake(it *negotiation) {
	// The queue has a lock of its own, with which it asks hints, which ask for this one.
	go n.activate(it.pod)
}

// activate has the scheduler try a pod, also where it is in a cycle at this moment.
func (n *negotiations) activate(pod *v1.Pod) {
	n.handle.Activate(n.logger, map[string]*v1.Pod{pod.Namespace + "/" + pod.Name: pod})
}

// has tells whether a negotiation still is the one of its pod, and in this phase. It is called with the lock.
func (n *negotiations) has(it *negotiation, phase phase) bool {
	return n.of[it.uid] == it && it.phase == phase
}

// len is the number of pods that something is under way about.
func (n *negotiations) len() int {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return len(n.of)
}

// whyNot is why there is no agreement, for people.
func whyNot(parties []string, err error) string {
	var none *nodesift.NoAgreementError
	if !errors.As(err, &none) {
		return fmt.Sprintf("waiting for %s: %v", naming(parties), err)
	}
	switch none.End {
	case nodesiftv1.End_END_EXHAUSTED:
		return "no node suits " + naming(parties) + reasonsOf(none.Refusals)
	case nodesiftv1.End_END_TIMED_OUT:
		if len(none.Parties) > 0 {
			parties = none.Parties
		}
		return fmt.Sprintf("waiting for %s: no answer in time", naming(parties))
	case nodesiftv1.End_END_IN_PROGRESS:
		return fmt.Sprintf("waiting for %s: claim %s is being allocated or deallocated", naming(parties), none.Claim)
	default:
		return fmt.Sprintf("waiting for %s: the negotiation has ended with %v", naming(parties), none.End)
	}
}

// reasonsOf are the most frequent reasons of parties, each once, without numbers: a text that changes with each try would be told each time.
func reasonsOf(refusals []nodesift.PartyRefusal) string {
	var reasons []string
	for _, refusal := range refusals {
		reason := "party " + refusal.Party + ": " + refusal.Reason
		if refusal.Reason != "" && len(reasons) < maxReasons && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	return "; " + strings.Join(reasons, "; ")
}
