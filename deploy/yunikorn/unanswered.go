package yunikorn

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// There are pods about which the sidecar has no answer while it answers questions about others: it is not asked about them for a
// while, or no predicate evaluates what they need. Where the shim's own manager decides about them and they are placed, they are
// counted and judged like those that are placed in an outage, beside the questions of others.

// unanswered are pods that were placed by the own manager while there was no outage.
type unanswered struct {
	// Nodes that the own manager has let pods on, by pod: the last one of each that is not placed yet.
	let map[types.UID]string
	// Those that were placed since others were judged.
	placed *outage
	// Whether some are being judged, or the pause after that goes on.
	judging bool
}

func newUnanswered() unanswered {
	return unanswered{let: map[types.UID]string{}, placed: newUnansweredOutage()}
}

func newUnansweredOutage() *outage {
	return &outage{Outage: Outage{Stage: Unanswered}, placed: map[types.UID]*placement{}}
}

// noteOwn notes that the own manager has decided about a pod on a node, which fits where there is no error.
func (s *sidecar) noteOwn(pod *v1.Pod, node *v1.Node, err error) {
	if err != nil || pod == nil || pod.UID == "" || node == nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	let := s.unanswered.let
	if _, known := let[pod.UID]; !known && len(let) >= maxLet {
		for uid := range let {
			delete(let, uid)
			break
		}
	}
	let[pod.UID] = node.Name
}

// noteVerdict notes that the sidecar has decided about a pod on a node. It is called with the mutex, for each lookup.
func (s *sidecar) noteVerdict(uid types.UID, node string) {
	if let := s.unanswered.let; len(let) > 0 && let[uid] == node {
		delete(let, uid)
	}
}

// placeUnanswered notes where the shim counts a pod, for one that the own manager has let there while there was no outage. It is
// called with the mutex.
func (s *sidecar) placeUnanswered(uid types.UID, at *placement) {
	of := &s.unanswered
	node, let := of.let[uid]
	delete(of.let, uid)
	if before := of.placed.placed[uid]; before != nil && (at == nil || at.node != before.node) {
		of.placed.note(uid, nil, false)
	}
	if at == nil || !let || at.node != node || s.stance == away {
		return
	}
	if of.placed.Placed == 0 {
		of.placed.Since = at.since
	}
	of.placed.note(uid, at, false)
	if !of.judging {
		of.judging = true
		go s.judgeUnanswered()
	}
}

// judgeUnanswered judges such pods, with a line about them and a pause after it, until there are no more.
func (s *sidecar) judgeUnanswered() {
	for s.settled() {
		s.mutex.Lock()
		of := s.unanswered.placed
		if of.Placed == 0 {
			s.unanswered.judging = false
			s.mutex.Unlock()
			return
		}
		s.unanswered.placed = newUnansweredOutage()
		of.Length, of.Names = time.Since(of.Since), of.first()
		s.history.placed += uint64(of.Placed)
		pause := s.linePause
		s.mutex.Unlock()
		s.review(of)
		select {
		case <-time.After(pause):
		case <-s.client.Done():
			return
		}
	}
}

// settled waits until questions are asked, and nothing waits to be delivered before them. It fails where the client is closed.
func (s *sidecar) settled() bool {
	for {
		s.mutex.Lock()
		settled, changed := s.stance == answering && s.deliveries.blocking == 0, s.change()
		s.mutex.Unlock()
		if settled {
			return true
		}
		select {
		case <-changed:
		case <-s.client.Done():
			return false
		}
	}
}
