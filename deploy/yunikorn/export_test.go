package yunikorn

import "time"

// SetLinePause sets the least time between two lines about what goes on.
func (s *sidecar) SetLinePause(pause time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.linePause = pause
}
