package yunikorn

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

// AssumePod tells the sidecar that the shim counts a pod on a node from now on: where the shim's cache assumes it. It does not
// wait: the placement is delivered in the background, and the next question waits for that. So there is no error.
//
// The pod is copied, because the shim may change it later.
func (s *sidecar) AssumePod(pod *v1.Pod, node string) {
	s.place(pod.UID, &placement{pod: pod.DeepCopy(), node: node, since: time.Now()})
}

// ForgetPod tells the sidecar that the shim no longer counts a pod as assumed, whether it was or not. It does not wait either.
func (s *sidecar) ForgetPod(uid string) { s.place(types.UID(uid), nil) }

// place notes what the shim counts, and has it delivered. No answer from before is used again.
func (s *sidecar) place(uid types.UID, at *placement) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if at != nil {
		s.placed[uid] = at
	} else {
		delete(s.placed, uid)
	}
	s.placeUnanswered(uid, at)
	s.dropLate(uid)
	if s.stance == away {
		s.outage.note(uid, at, s.deliveries.waiting[uid] == nil)
	}
	s.local++
	clear(s.kept)
	s.sweep()
	s.post(uid)
	s.deliver()
}

// sweep drops placements that the sidecar no longer counts, now and then, and ends of such. It is called with the mutex.
func (s *sidecar) sweep() {
	waiting := s.deliveries.waiting
	if max(len(s.placed), len(waiting)) < s.sweepAt {
		return
	}
	for uid, at := range s.placed {
		if time.Since(at.since) > s.options.TimeToLive {
			delete(s.placed, uid)
			s.unpost(uid)
		}
	}
	for uid, of := range waiting {
		if time.Since(of.posted) > s.options.TimeToLive {
			s.unpost(uid)
		}
	}
	s.sweepAt = max(minSweep, 2*max(len(s.placed), len(waiting)))
}
