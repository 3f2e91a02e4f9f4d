package yunikorn

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A placement that does not come through by its own failure is stuck: the sidecar refuses it, answers it with an error, or does not
// answer calls that tell no other. It keeps questions from being asked for [overduePatience] at most. Then it is overdue: the
// sidecar is asked without it, and goes on being told of it, seldom and apart from all others.

// isStuck tells whether questions wait for a placement that has failed.
func (w *waiting) isStuck() bool { return w.blocking && w.reason != nil && !w.isOverdue() }

// isOverdue tells whether a pod has kept questions from being asked for as long as it may, unless a change of it is being told.
func (w *waiting) isOverdue() bool { return w.held >= overduePatience }

// probe finds out whether the sidecar answers questions that stuck placements keep from being asked. Only such time counts: of a
// sidecar that answers nothing it is not known what it would take in.
func (s *sidecar) probe() {
	s.mutex.Lock()
	stuck := s.stuck()
	s.mutex.Unlock()
	if stuck == 0 {
		return
	}
	if _, err := s.question(versions{}, max(tryTimeout, s.options.Timeout)); err != nil {
		return
	}
	s.mutex.Lock()
	s.spendPatience()
	s.mutex.Unlock()
	s.say()
}

// stuck is the number of stuck placements. It is called with the mutex.
func (s *sidecar) stuck() int {
	stuck := 0
	for _, of := range s.deliveries.waiting {
		if of.isStuck() {
			stuck++
		}
	}
	return stuck
}

// spendPatience counts for stuck placements that a question would have been answered. It is called with the mutex.
func (s *sidecar) spendPatience() {
	d := &s.deliveries
	if stuck := s.stuck(); stuck < d.blocking && d.failures > stuck {
		// Nothing is taken in, these or others, so it is not their failure.
		return
	}
	var overdue []types.UID
	for uid, of := range d.waiting {
		if !of.isStuck() {
			continue
		}
		if of.held += probePace; of.isOverdue() {
			overdue = append(overdue, uid)
		}
	}
	if len(overdue) == 0 {
		return
	}
	slices.SortFunc(overdue, func(a, b types.UID) int { return cmp.Compare(d.waiting[a].change, d.waiting[b].change) })
	s.nameOverdue(overdue)
	for _, uid := range overdue {
		s.owe(uid, d.waiting[uid])
	}
}

// nameOverdue has placements named in the log. It is called with the mutex.
func (s *sidecar) nameOverdue(uids []types.UID) {
	all := s.deliveries.waiting
	first, last := all[uids[0]], all[uids[len(uids)-1]]
	said := Outage{Stage: Overdue, Since: first.since, Length: time.Since(first.since), Waited: len(uids)}
	said.First, said.Last = first.reason, last.reason
	for _, uid := range uids[:min(len(uids), maxNamed)] {
		said.Names = append(said.Names, all[uid].describe(uid))
	}
	s.toSay(said)
}

// describe names a placement, or the end of one, and its failure.
func (w *waiting) describe(uid types.UID) string {
	if w.at == nil {
		return fmt.Sprintf("the end of %s (%v)", uid, w.reason)
	}
	return fmt.Sprintf("%s on %s (%v)", nameOf(w.at), w.at.node, w.reason)
}

// owe has an overdue placement told again after a while. It is called with the mutex.
func (s *sidecar) owe(uid types.UID, of *waiting) {
	d := &s.deliveries
	s.unblock(of)
	s.enqueue(&d.overdue, uid, of)
	if !d.collecting {
		d.collecting = true
		s.later(overdueRest, s.collect)
	}
}

// collect tells overdue placements: one call at a time, beside the calls with others, and the next after a rest unless some came
// through. It is called with the mutex.
func (s *sidecar) collect() {
	d := &s.deliveries
	batch := slices.DeleteFunc(s.take(&d.overdue, perDelivery), s.expired)
	if len(batch) == 0 {
		d.collecting = len(d.overdue.queue) > 0
		if d.collecting {
			s.later(overdueRest, s.collect)
		}
		return
	}
	go func() {
		outcomes := tell(s.client, batch, s.options.TimeToLive)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		before := d.delivered
		s.settle(batch, outcomes)
		if d.delivered > before {
			s.collect()
		} else {
			s.later(overdueRest, s.collect)
		}
		s.deliver()
	}()
}

// expired drops a placement that the sidecar would not count any more if it had been told in time. It is called with the mutex.
func (s *sidecar) expired(one delivery) bool {
	of := s.deliveries.waiting[one.uid]
	if time.Since(of.posted) <= s.options.TimeToLive {
		return false
	}
	of.sent = false
	delete(s.placed, one.uid)
	s.arrived(one.uid, of)
	return true
}
