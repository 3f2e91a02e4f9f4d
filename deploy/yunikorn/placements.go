package yunikorn

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// Placements is told which pods the shim counts where. [Manager] and [Staged] are.
type Placements interface {
	AssumePod(pod *v1.Pod, node string)
	ForgetPod(uid string)
}

// placement is a pod that the shim counts on a node.
type placement struct {
	pod   *v1.Pod
	node  string
	since time.Time
}

// AssumePod tells the sidecar that the shim counts a pod on a node from now on: where the shim's cache assumes it. What cannot
// be delivered now is delivered before the next question; until then the sidecar is asked nothing. So there is no error.
//
// The pod is kept, and read in later calls: it must not be changed outside the shim's lock.
func (s *sidecar) AssumePod(pod *v1.Pod, node string) {
	s.place(pod.UID, &placement{pod: pod, node: node, since: time.Now()})
}

// ForgetPod tells the sidecar that the shim no longer counts a pod as assumed, whether it was or not.
func (s *sidecar) ForgetPod(uid string) { s.place(types.UID(uid), nil) }

// place notes what the shim counts and delivers it. No answer from before is used again.
func (s *sidecar) place(uid types.UID, at *placement) {
	s.mutex.Lock()
	if at != nil {
		s.placed[uid] = at
	} else {
		delete(s.placed, uid)
	}
	s.undelivered[uid] = true
	s.local++
	clear(s.kept)
	s.sweep()
	s.mutex.Unlock()
	if s.mayAsk() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
	defer cancel()
	if err := s.deliver(ctx); err != nil {
		s.failed(err)
	}
}

// sweep drops placements that the sidecar no longer counts, now and then. It is called with the mutex.
func (s *sidecar) sweep() {
	if len(s.placed) < s.sweepAt {
		return
	}
	for uid, at := range s.placed {
		if time.Since(at.since) > s.options.TimeToLive {
			delete(s.placed, uid)
			delete(s.undelivered, uid)
		}
	}
	s.sweepAt = max(minSweep, 2*len(s.placed))
}

// deliver tells the sidecar all that it has yet to be told.
func (s *sidecar) deliver(ctx context.Context) error {
	if _, _, waits := s.next(); !waits {
		return nil
	}
	s.delivering.Lock()
	defer s.delivering.Unlock()
	for {
		uid, at, waits := s.next()
		if !waits {
			return nil
		}
		bound, err := s.tell(ctx, uid, at)
		if err != nil {
			return err
		}
		s.mutex.Lock()
		if s.placed[uid] == at {
			delete(s.undelivered, uid)
			if bound {
				delete(s.placed, uid)
			}
		}
		s.mutex.Unlock()
	}
}

// next is a pod of which the sidecar has yet to be told, and where the shim counts it: nil where nowhere.
func (s *sidecar) next() (uid types.UID, at *placement, waits bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for uid := range s.undelivered {
		return uid, s.placed[uid], true
	}
	return "", nil, false
}

// tell delivers one placement. Bound is a pod that needs none, because the sidecar sees it bound or gone.
func (s *sidecar) tell(ctx context.Context, uid types.UID, at *placement) (bound bool, err error) {
	if at == nil {
		_, err := s.client.Forget(ctx, nodesift.PodUID(string(uid)))
		return false, err
	}
	ttl := nodesift.TimeToLive(s.options.TimeToLive)
	assumed, err := s.client.Assume(ctx, nodesift.PodUID(string(uid)), at.node, ttl)
	if errors.Is(err, nodesift.ErrNotFound) {
		assumed, err = s.client.Assume(ctx, nodesift.WholePod(at.pod), at.node, ttl)
	}
	if errors.Is(err, nodesift.ErrNotFound) {
		if _, known := s.client.Index().Names().Row(at.node); known {
			// A whole pod is refused only where the sidecar has seen its end.
			return true, nil
		}
	}
	return assumed.Placed == nodesift.PlacedAlreadyBound, err
}
