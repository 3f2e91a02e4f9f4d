package plugin

import (
	"context"
	"errors"
	"fmt"
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

	mutex sync.Mutex
	of    map[types.UID]*negotiation
}

func newNegotiations(ctx context.Context, p *Plugin) *negotiations {
	return &negotiations{
		ctx: ctx, client: p.sidecar.client, handle: p.handle, logger: p.logger,
		deadline: p.args.NegotiationTimeout.Duration, allocation: p.args.AllocationTimeout.Duration,
		pause: negotiationPause, maxPause: maxNegotiationPause, lifetime: agreementLifetime,
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

// begin has the parties of a pod asked about nodes, unless they are or a pause goes on, and is what the cycle sees then.
func (n *negotiations) begin(pod *v1.Pod, named nodesift.Pod, parties, order []string) (*standing, error) {
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
	go n.ask(ctx, it, named, parties, order)
	return it.underWay(), nil
}

// isFull tells whether there is no place for a negotiation of a pod of the namespace, which is remembered already unless it is new. It is
// called with the lock.
func (n *negotiations) isFull(namespace string, isNew bool) bool {
	if len(n.of) < maxNegotiations/namespaceShare {
		return false
	}
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
	return open >= maxNegotiations || openOfIts >= maxNegotiations/namespaceShare
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
	for event, err := range n.client.Negotiation(ctx, named, options...) {
		if err == nil {
			err = event.Err()
		}
		if err != nil {
			return err
		}
		if event.Viable != nil {
			viable = event.Viable
		}
		if event.Agreed {
			n.agree(ctx, it, event.ID, viable)
			return nil
		}
	}
	return errSelected
}

// agree notes an agreement, and wakes the pod.
func (n *negotiations) agree(ctx context.Context, it *negotiation, id uint64, viable []string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if it.isStopped(ctx) {
		// Nobody selects it: it ends by itself.
		return
	}
	it.stop()
	negotiationEnds.WithLabelValues(resultAgreed).Inc()
	it.phase, it.id, it.viable = agreed, id, viable
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
		// Also where the scheduler is ending.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), releaseTimeout)
		defer cancel()
		if err := n.client.Release(ctx, id); err != nil && !errors.Is(err, nodesift.ErrNotFound) {
			n.logger.Error(err, "nodesift has not been told that a negotiation is given up", "pod", pod)
		}
	}()
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
		return "no node suits " + naming(parties)
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
