package yunikorn

import "time"

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
