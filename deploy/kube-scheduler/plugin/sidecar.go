package plugin

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// Calls without which some of the plugin's hooks do nothing.
var neededCalls = []string{"Assume", "Explain", "Filter", "FilterStream", "Forget", "Negotiate", "Release", "Reprieve", "Select"}

// sidecar is the connection to one sidecar. All profiles of a process that name the same address share it, because what one
// of them has placed must count for the others.
type sidecar struct {
	client  *nodesift.Client
	stream  *nodesift.Stream
	ledger  ledger
	breaker breaker
	outage  outage
	slow    slow
	users   int
	// Whether placements are being told beside the cycles, and those that were set aside beside that.
	catchingUp, tellingSetAside atomic.Bool
	// Why the last catching up had no answer, until a question says so.
	unanswered atomic.Pointer[error]
	// Changes that a question takes along: fewer where such questions have failed.
	riding atomic.Int64
	// Changes of the next request beside the cycles; whoever catches up has it.
	batch int
	// Time for a request with changes beside the cycles.
	timeout time.Duration
	// Time to judge a pod that was placed without an answer.
	judgeTimeout time.Duration
	// Pause before each question whether the sidecar answers again.
	judgePause time.Duration
}

var (
	sidecarsMutex sync.Mutex
	sidecars      = map[string]*sidecar{}
)

// sharedSidecar is the connection to an address, which ends with the last context it was taken for.
func sharedSidecar(ctx context.Context, address string) (*sidecar, error) {
	sidecarsMutex.Lock()
	defer sidecarsMutex.Unlock()
	shared := sidecars[address]
	if shared == nil {
		client, err := nodesift.Dial(address, nodesift.OnCapabilities(func(known *nodesift.Capabilities) { tellVersion(address, known) }))
		if err != nil {
			return nil, err
		}
		shared = &sidecar{client: client, stream: client.Stream(), batch: firstBatch, timeout: catchUpTimeout,
			judgeTimeout: judgeTimeout, judgePause: judgePause}
		shared.riding.Store(maxChangesWithQuestion)
		sidecars[address] = shared
	}
	shared.users++
	context.AfterFunc(ctx, func() {
		sidecarsMutex.Lock()
		defer sidecarsMutex.Unlock()
		if shared.users--; shared.users == 0 {
			delete(sidecars, address)
			shared.stream.Close()
			_ = shared.client.Close()
		}
	})
	return shared, nil
}

// tellVersion logs which sidecar the scheduler has, and what that lacks.
func tellVersion(address string, known *nodesift.Capabilities) {
	klog.InfoS("nodesift is connected", "address", address, "version", known.Version, "revision", known.Revision,
		"kubernetesVersion", known.KubernetesVersion, "predicates", known.Policy.Predicates)
	if err := known.Require(neededCalls...); err != nil {
		klog.ErrorS(err, "nodesift lacks calls that this plugin makes", "address", address)
	}
}

// breaker keeps cycles from waiting for a sidecar that does not answer.
type breaker struct {
	mutex    sync.Mutex
	failures int
	until    time.Time
}

// allows tells whether to call. While it is open, one call at a time is let through after each pause.
func (b *breaker) allows() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.failures < breakerFailures {
		return true
	}
	now := time.Now()
	if now.Before(b.until) {
		return false
	}
	b.until = now.Add(breakerPause)
	return true
}

// progressed lets the next call through, because the sidecar has answered otherwise. Failures before do not count any more, but an
// open breaker closes by an answer about a pod only.
func (b *breaker) progressed() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.until = time.Time{}
	if b.failures < breakerFailures {
		b.failures = 0
	}
}

// open tells whether calls are held back.
func (b *breaker) open() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.failures >= breakerFailures
}

// note counts what came of a call, and tells whether the breaker has opened or closed.
func (b *breaker) note(err error) (opened, closed bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if !silent(err) {
		closed = b.failures >= breakerFailures
		b.failures = 0
		return false, closed
	}
	b.failures++
	if b.failures >= breakerFailures {
		b.until = time.Now().Add(breakerPause)
	}
	return b.failures == breakerFailures, false
}

// silent tells whether an error means that the sidecar does not answer. Other errors are answers.
func silent(err error) bool {
	return errors.Is(err, nodesift.ErrUnavailable) || errors.Is(err, nodesift.ErrDeadline) ||
		errors.Is(err, nodesift.ErrOverloaded) || errors.Is(err, context.Canceled)
}
