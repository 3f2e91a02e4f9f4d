package plugin

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// errSlow: questions about such a pod take longer than a call may, so none is asked for now.
var errSlow = errors.New("nodesift has not answered in time about pods such as this one, and is asked about them again in a while")

// slow has the pods about which questions have had no answer in the time of a call. The sidecar may have one in more time, such as about a
// large pod, so it does not set them aside itself. Each such question takes the time of a call from the scheduler, ends the stream, and as
// many as open the breaker keep all other pods from being asked about; and where one replica is slow, all are.
type slow struct {
	mutex sync.Mutex
	of    map[types.UID]slowness
	// The time; the clock of the machine where it is nil.
	clock func() time.Time
}

type slowness struct {
	// Questions in a row without an answer.
	times int
	// Until when none is asked.
	until time.Time
}

// templateOf is the same for all pods of a controller.
func templateOf(pod *v1.Pod) types.UID {
	if controller := metav1.GetControllerOf(pod); controller != nil {
		return controller.UID
	}
	return pod.UID
}

// isAside tells whether no question is asked about pods of a template.
func (s *slow) isAside(template types.UID) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.of) > 0 && s.now().Before(s.of[template].until)
}

// note notes what came of a question about a pod. One that took changes along says nothing of the pod where it has no answer: they can be
// what takes the time.
func (s *slow) note(ctx context.Context, pod *v1.Pod, changes int, err error) {
	switch {
	case err == nil:
		s.answered(templateOf(pod))
	case changes == 0 && isSlow(ctx, err):
		s.failed(templateOf(pod))
	}
}

// failed notes a question without an answer. The first one can be the fault of whatever was under way.
func (s *slow) failed(template types.UID) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.of == nil || len(s.of) >= maxSlow {
		s.of = map[types.UID]slowness{}
	}
	times := s.of[template].times + 1
	next := slowness{times: times}
	if further := times - slowQuestions; further >= 0 {
		next.until = s.now().Add(min(slowPause<<min(further, 16), maxSlowPause))
	}
	s.of[template] = next
}

// answered notes a question with an answer.
func (s *slow) answered(template types.UID) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.of, template)
}

// clear forgets all: the sidecar as a whole has said nothing, and whatever was slow, it was not these pods.
func (s *slow) clear() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	clear(s.of)
}

// now is called with the lock.
func (s *slow) now() time.Time {
	if s.clock == nil {
		return time.Now()
	}
	return s.clock()
}

// isSlow tells whether a question has ended because its time was up. One that required versions ends earlier where the sidecar lacks these;
// a sidecar that is too slow says so at the end, in the time that a request has no milliseconds for.
func isSlow(ctx context.Context, err error) bool {
	deadline, _ := ctx.Deadline()
	return errors.Is(err, nodesift.ErrDeadline) && time.Until(deadline) < 2*time.Millisecond
}
