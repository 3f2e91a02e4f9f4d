package yunikorn

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// Pods whose questions have no answer are set aside: none is asked about them under the lock of the shim for a while. Where one
// replica takes too long, all do, so that holds for all pods of a controller.

// aside are pods whose questions had no answer.
type aside struct {
	// Questions in a row without one, and until when none is asked.
	times int
	until time.Time
	// The last one has had no answer because its time was over, so one in the background can have.
	slow bool
	// Questions in the background in a row without an answer, and until when none is asked.
	misses  int
	waiting time.Time
}

// templateOf is the same for all pods of a controller.
func templateOf(pod *v1.Pod) types.UID {
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		return controller.UID
	}
	return pod.UID
}

// isAside tells whether a pod is not asked about.
func (s *sidecar) isAside(pod *v1.Pod) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.aside) == 0 {
		return false
	}
	now := time.Now()
	return now.Before(s.aside[templateOf(pod)].until) || now.Before(s.aside[pod.UID].until)
}

// versions are the resourceVersions of a node and a pod that a question requires.
type versions struct{ node, pod string }

// unready notes that no question could be asked in the time of one. Where others have just been answered, that begins no outage,
// unless placements are not taken in and a question in the background is not answered in that time either.
func (s *sidecar) unready(ctx context.Context, required versions, reason error) {
	if errors.Is(reason, errHeld) {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if errors.Is(reason, nodesift.ErrDeadline) && s.justAnswered(ctx) {
		s.verify()
		return
	}
	s.required = required
	s.giveUp(reason)
}

// failed notes that a question about a pod had no answer. Where its time was over while another one has just been answered, that is
// the pod's own failure, unless one in the background has no answer in that time either.
func (s *sidecar) failed(ctx context.Context, pod *v1.Pod, required versions, reason error) {
	slow := isOver(ctx, reason)
	of := templateOf(pod)
	if errors.Is(reason, nodesift.ErrDeadline) && !slow {
		// The sidecar does not see the version of this very pod, or node.
		of = pod.UID
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	times := s.setAside(of, slow)
	if slow && s.justAnswered(ctx) {
		s.verify()
		return
	}
	s.required = required
	if times > 1 {
		// The sidecar has answered since, so it is not asked to see what this pod needs before it may be asked about others.
		s.required = versions{}
	}
	s.giveUp(reason)
}

// justAnswered tells whether others were answered within the second before a question. It is called with the mutex.
func (s *sidecar) justAnswered(ctx context.Context) bool {
	deadline, _ := ctx.Deadline()
	return s.stance == answering && deadline.Sub(s.lastAnswer) < s.options.Timeout+recently
}

// setAside is called with the mutex. It returns how many questions in a row have had no answer.
func (s *sidecar) setAside(pods types.UID, slow bool) (times int) {
	if len(s.aside) >= maxAside {
		clear(s.aside)
	}
	of := s.aside[pods]
	// An answer in the background that has come meanwhile may have them set aside for longer.
	if until := time.Now().Add(doubled(asideMin, of.times, asideMax)); until.After(of.until) {
		of.until = until
	}
	of.times++
	of.slow = slow
	s.aside[pods] = of
	return of.times
}

// answered notes that a question about a pod, and a node unless it is empty, had an answer.
func (s *sidecar) answered(pod *v1.Pod, node string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.lastAnswer = time.Now()
	delete(s.aside, templateOf(pod))
	delete(s.aside, pod.UID)
	s.noteVerdict(pod.UID, node)
}

// isOver tells whether a question has ended because its time was over. One that required versions ends earlier where the sidecar lacks
// these; a sidecar that is too slow says so at the end, in the time that a request has no milliseconds for.
func isOver(ctx context.Context, err error) bool {
	deadline, _ := ctx.Deadline()
	return errors.Is(err, nodesift.ErrDeadline) && time.Until(deadline) < 2*time.Millisecond
}

// verify finds out in the background whether the sidecar answers another question in the time of one, and gives up where it does not.
// So one that begins to hang costs few questions under the lock of the shim. It is called with the mutex.
func (s *sidecar) verify() {
	if s.verifying {
		return
	}
	s.verifying = true
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
		err := s.ready(ctx)
		cancel()
		if err == nil {
			_, err = s.question(versions{}, s.options.Timeout)
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.verifying = false
		if err != nil && !errors.Is(err, errAnew) && s.stance == answering {
			s.giveUp(fmt.Errorf("another question had no answer either: %w", err))
		}
	}()
}

// doubled is a time after so many failures.
func doubled(first time.Duration, times int, most time.Duration) time.Duration {
	return min(first<<min(times, 16), most)
}
