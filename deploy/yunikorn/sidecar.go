package yunikorn

import (
	"errors"
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

	// errUndecided: the pod needs what no predicate evaluates.
	errUndecided = errors.New("predicates were not run because no predicate evaluates what the pod needs")
	// errResting: nothing is asked for a while after a failure.
	errResting = errors.New("nodesift is not asked for now")
	// errNoReason stands for a rejection without reasons.
	errNoReason = errors.New("rejected without a reason")
)

// rejection is the text for a node that is rejected because there is no verdict.
func rejection(err error) error {
	for _, known := range []error{errNoPod, errNoNode, errUndecided} {
		if errors.Is(err, known) {
			return known
		}
	}
	return errNoAnswer
}

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
	// Where the shim counts pods, and which of that the sidecar has yet to be told.
	placed      map[types.UID]*placement
	undelivered map[types.UID]bool
	// The number of placements from which on expired ones are looked for.
	sweepAt int
	// Failures in a row, and until when nothing is asked.
	failures  int
	restUntil time.Time

	// Held while placements are delivered, so that those of one pod arrive in order.
	delivering sync.Mutex

	asked, own atomic.Uint64
}

func newSidecar(client *nodesift.Client, options Options) *sidecar {
	return &sidecar{
		client:      client,
		options:     options.withDefaults(),
		kept:        map[question]*kept{},
		placed:      map[types.UID]*placement{},
		undelivered: map[types.UID]bool{},
		sweepAt:     minSweep,
	}
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

// mayAsk fails while the sidecar rests.
func (s *sidecar) mayAsk() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.failures > 0 && time.Now().Before(s.restUntil) {
		return errResting
	}
	return nil
}

// failed begins a rest.
func (s *sidecar) failed(reason error) {
	s.mutex.Lock()
	first := s.failures == 0
	rest := restMax
	if s.failures < 16 {
		rest = min(restMin<<s.failures, restMax)
	}
	s.failures++
	s.restUntil = time.Now().Add(rest)
	s.mutex.Unlock()
	if first {
		s.options.Log(reason)
	}
}

// answered ends the failures in a row.
func (s *sidecar) answered() {
	s.mutex.Lock()
	again := s.failures > 0
	s.failures = 0
	s.mutex.Unlock()
	if again {
		s.options.Log(nil)
	}
}
