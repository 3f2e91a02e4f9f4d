package yunikorn

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SetLinePause sets the least time between two lines about what goes on.
func (s *sidecar) SetLinePause(pause time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.linePause = pause
}

// Let is the number of pods that the own manager has let on a node and that are not placed yet.
func (s *sidecar) Let() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.unanswered.let)
}

// Pass has so much time pass since questions were answered, under the lock of the shim or in the background.
func (s *sidecar) Pass(time time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.lastAnswer = s.lastAnswer.Add(-time)
	for _, of := range s.late.answers {
		of.asked = of.asked.Add(-time)
	}
}

// Late is the number of answers in the background that are kept.
func (s *sidecar) Late() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.late.answers)
}

// KeepLate keeps answers about so many pods, an hour old.
func (s *sidecar) KeepLate(pods int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for at := range pods {
		s.keepLate(question{types.UID(fmt.Sprint("of-old-", at)), true}, &kept{asked: time.Now().Add(-time.Hour)})
	}
}

// AsideFor is for how long a pod is not asked about under the lock of the shim.
func (s *sidecar) AsideFor(pod *v1.Pod) time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return time.Until(s.aside[templateOf(pod)].until)
}

// LateSince is when the age of an answer in the background begins.
func (s *sidecar) LateSince(pod *v1.Pod) time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if of := s.late.answers[question{pod.UID, true}]; of != nil {
		return of.asked
	}
	return time.Time{}
}
