package yunikorn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// pluginName is named where nodesift rejects a node without a verdict of a predicate.
const pluginName = "nodesift"

// Why there is no verdict. The core counts equal texts, so there are few, and none names a node.
var (
	errNoPod    = errors.New("predicates were not run because pod was not found in cache")
	errNoNode   = errors.New("predicates were not run because node was not found in cache")
	errNoAnswer = errors.New("predicates were not run because nodesift gave no answer")
	errUnlearnt = errors.New("predicates were not run because nodesift gave no answer, and its policy is not known yet")

	// errUndecided: the pod needs what no predicate evaluates.
	errUndecided = errors.New("predicates were not run because no predicate evaluates what the pod needs")
	// errHeld: nothing is asked until a question in the background has been answered.
	errHeld = errors.New("nodesift is not asked for now")
	// errAside: nothing is asked about this pod for a while.
	errAside = errors.New("nodesift is not asked about this pod for now")
	// errNoReason stands for a rejection without reasons.
	errNoReason = errors.New("rejected without a reason")
)

// rejection is the text for a node that is rejected because there is no verdict, and nil where the shim's own manager decides.
func (s *sidecar) rejection(err error) error {
	why, waits := s.waits()
	if !waits || err == errOutdated {
		return nil
	}
	for _, known := range []error{errNoPod, errNoNode, errUndecided} {
		if errors.Is(err, known) {
			return known
		}
	}
	if why == errNoPolicy {
		return errUnlearnt
	}
	return errNoAnswer
}

// stance is whether questions are asked.
type stance int

const (
	// beginning: the first question is asked in the background, and those under the lock of the shim wait for its answer.
	beginning stance = iota
	answering
	// away: questions are held back until one in the background has been answered.
	away
)

// sidecar is what the managers have in common: answers, placements, and when to ask.
type sidecar struct {
	client  *nodesift.Client
	options Options

	mutex sync.Mutex
	// Answers by question, all of this process of the sidecar and of this state of the shim.
	kept map[question]*kept
	// The process of the sidecar, and the newest generation of its cache that an answer has shown.
	epoch, generation uint64
	// Rises with every placement.
	local uint64
	// Where the shim counts pods.
	placed map[types.UID]*placement
	// The number of placements from which on expired ones are looked for.
	sweepAt    int
	deliveries deliveries
	stance     stance
	outage     *outage
	history    history
	// Pods that are not asked about for a while, by controller, or by pod where that is none of the others' failure.
	aside map[types.UID]aside
	late  late
	// When a question was last answered in the time of one, and whether it is being found out whether one is.
	lastAnswer time.Time
	verifying  bool
	// The versions that the last question without an answer has required.
	required versions
	policy   policy
	// Pods that are placed without an answer while there is no outage.
	unanswered unanswered
	// Closed when the stance is another one, or nothing waits for its delivery any more. Nil where nobody waits for that.
	changed chan struct{}
	// Outages to be logged, in their order, and whether that goes on.
	unsaid []Outage
	saying bool
	// The least time between two lines about the same.
	linePause time.Duration

	// Has a value where the sidecar has taken a placement in after it had not.
	revived chan struct{}

	asked, own atomic.Uint64
}

// newSidecar connects and asks a first question in the background, so that those of the shim find both sides warm.
func newSidecar(client *nodesift.Client, options Options) *sidecar {
	s := &sidecar{
		client:  client,
		options: options.withDefaults(),
		kept:    map[question]*kept{},
		placed:  map[types.UID]*placement{},
		sweepAt: minSweep,
		aside:   map[types.UID]aside{},
		revived: make(chan struct{}, 1),

		late:       newLate(),
		unanswered: newUnanswered(),
		linePause:  linePause,
	}
	s.deliveries.waiting, s.deliveries.size = map[types.UID]*waiting{}, perDelivery
	go s.comeBack()
	return s
}

// Counts are numbers of calls since the manager was made.
type Counts struct {
	// Questions to the sidecar about a pod and all nodes. What is in neither number was looked up.
	Asked uint64
	// Calls that the shim's own manager has answered because the sidecar could not.
	Own uint64
}

// Counts says how much was asked, for metrics.
func (s *sidecar) Counts() Counts { return Counts{Asked: s.asked.Load(), Own: s.own.Load()} }

func (s *sidecar) countOwn() { s.own.Add(1) }

// Wait waits until the sidecar has answered for the first time. Then it is also known whether the policy has predicates that the
// shim lacks. It is for the start of the shim; the error says why there is no answer yet. A context without a deadline gets 30 s.
func (s *sidecar) Wait(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startPatience)
		defer cancel()
	}
	for {
		s.mutex.Lock()
		stance, outage, changed := s.stance, s.outage, s.change()
		s.mutex.Unlock()
		if stance == answering {
			return nil
		}
		select {
		case <-changed:
		case <-s.client.Done():
			return fmt.Errorf("%w: the client is closed", nodesift.ErrUnavailable)
		case <-ctx.Done():
			if outage != nil {
				return errors.Join(ctx.Err(), outage.Last)
			}
			return ctx.Err()
		}
	}
}

// change is closed with the next change that somebody may wait for. It is called with the mutex.
func (s *sidecar) change() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// announce wakes those who wait for a change. It is called with the mutex.
func (s *sidecar) announce() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// ready waits until a question may be asked: the sidecar answers, and has been told every placement. The context is that of the
// question, so that waiting and asking share its time.
func (s *sidecar) ready(ctx context.Context) error {
	for {
		s.mutex.Lock()
		stance, blocking, changed := s.stance, s.deliveries.blocking, s.change()
		s.mutex.Unlock()
		switch {
		case stance == away:
			return errHeld
		case stance == answering && blocking == 0:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if stance == beginning {
				return fmt.Errorf("%w: the first question is not answered yet", nodesift.ErrDeadline)
			}
			return fmt.Errorf("%w: %d placements are not delivered yet", nodesift.ErrDeadline, blocking)
		}
	}
}
