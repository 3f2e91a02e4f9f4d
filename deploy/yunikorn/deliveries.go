package yunikorn

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// deliveries are the pods of which the sidecar has yet to be told. They are delivered in the background, many in one call and those
// of one pod one after the other, whether questions are asked or not. All of it is guarded by the mutex of the sidecar.
type deliveries struct {
	waiting map[types.UID]*waiting
	// Those to be sent, and those that are overdue, which are sent apart from these.
	ordinary, overdue lane
	// Numbers changes, so that the answer to one is not taken for that to a later one.
	changes uint64
	// Calls on their way, and how many in a row had no answer. Those with overdue placements are not among them.
	calls, failures int
	// Placements of the next call: half as many after one without an answer, and twice as many after one that has answered all. So a
	// sidecar that is slow gets no more than it takes in, and one placement for which calls fail is told alone in the end.
	size int
	// Whether nothing is sent for a while after a call without an answer, or refused ones are queued again after a while.
	resting, retrying bool
	// Whether a call with overdue placements is on its way, or the rest after it goes on.
	collecting bool
	// Pods without which no question is asked: all but those that are overdue.
	blocking int
	// Placements that the sidecar has taken in, and those that it has answered.
	delivered, answered uint64
}

// lane is a queue, the oldest first. An entry whose pod is not in this lane any more is skipped.
type lane struct{ queue []types.UID }

// waiting is a pod of which the sidecar has yet to be told.
type waiting struct {
	// Nil where it counts nowhere.
	at     *placement
	change uint64
	// When it began to wait, and the last change.
	since, posted time.Time
	// Where it is queued; nil while it is sent.
	lane     *lane
	sent     bool
	blocking bool
	// Whether it is told in calls of its own, because one with it had no answer since when the sidecar had answered so many others.
	alone    bool
	answered uint64
	// Why the last change has not come through, where that is its own failure, and for how long such failures have kept questions
	// from being asked that the sidecar would have answered.
	reason error
	held   time.Duration
}

// post notes that the sidecar has to be told where a pod counts. It is called with the mutex.
func (s *sidecar) post(uid types.UID) {
	d := &s.deliveries
	of := d.waiting[uid]
	if of == nil {
		of = &waiting{since: time.Now()}
		d.waiting[uid] = of
	}
	if !of.blocking {
		of.blocking = true
		d.blocking++
	}
	d.changes++
	// For how long the pod has kept questions from being asked is not forgotten, or one that changes again and again always would.
	of.at, of.change, of.posted, of.answered, of.reason = s.placed[uid], d.changes, time.Now(), d.answered, nil
	s.enqueue(&d.ordinary, uid, of)
}

// enqueue is called with the mutex.
func (s *sidecar) enqueue(in *lane, uid types.UID, of *waiting) {
	if of.lane != in && !of.sent {
		of.lane = in
		in.queue = append(in.queue, uid)
	}
}

// unpost drops what need not be delivered any more. It is called with the mutex.
func (s *sidecar) unpost(uid types.UID) {
	if of := s.deliveries.waiting[uid]; of != nil && !of.sent {
		s.arrived(uid, of)
	}
}

// arrived is called with the mutex.
func (s *sidecar) arrived(uid types.UID, of *waiting) {
	delete(s.deliveries.waiting, uid)
	s.unblock(of)
}

// unblock is called with the mutex.
func (s *sidecar) unblock(of *waiting) {
	if !of.blocking {
		return
	}
	of.blocking = false
	if s.deliveries.blocking--; s.deliveries.blocking == 0 {
		s.announce()
	}
}

// deliver begins as many calls as may be on their way: a single one where the last had no answer. It is called with the mutex.
func (s *sidecar) deliver() {
	d := &s.deliveries
	most := deliveriesInFlight
	if d.failures > 0 {
		most = 1
	}
	for !d.resting && d.calls < most {
		batch := s.take(&d.ordinary, d.size)
		if batch == nil {
			return
		}
		d.calls++
		go s.send(batch)
	}
}

// take is what the next call delivers: no pod twice, for one that is sent is not queued. It is called with the mutex.
func (s *sidecar) take(from *lane, most int) []delivery {
	var batch []delivery
	for len(batch) < most && len(from.queue) > 0 {
		uid := from.queue[0]
		of := s.deliveries.waiting[uid]
		queued := of != nil && of.lane == from
		if queued && of.alone && len(batch) > 0 {
			break
		}
		from.queue = from.queue[1:]
		if !queued {
			continue
		}
		of.lane, of.sent = nil, true
		batch = append(batch, delivery{uid, of.at, of.change})
		if of.alone {
			break
		}
	}
	return batch
}

// send delivers a batch and what is to be delivered after it.
func (s *sidecar) send(batch []delivery) {
	for batch != nil {
		outcomes := tell(s.client, batch, s.options.TimeToLive)
		s.mutex.Lock()
		s.settle(batch, outcomes)
		batch = nil
		if d := &s.deliveries; !d.resting && (d.failures == 0 || d.calls == 1) {
			batch = s.take(&d.ordinary, d.size)
		}
		if batch == nil {
			s.deliveries.calls--
		}
		s.deliver()
		s.mutex.Unlock()
	}
}

// settle notes what became of a batch. It is called with the mutex.
func (s *sidecar) settle(batch []delivery, outcomes []outcome) {
	d := &s.deliveries
	answered := true
	for at, one := range batch {
		of := d.waiting[one.uid]
		of.sent = false
		if outcomes[at].err == nil {
			s.cameThrough(one, of, outcomes[at].bound)
		} else {
			answered = s.fellThrough(one, of, outcomes[at]) && answered
		}
	}
	if answered {
		d.size = min(2*d.size, perDelivery)
	}
}

// cameThrough is called with the mutex.
func (s *sidecar) cameThrough(one delivery, of *waiting, bound bool) {
	s.deliveries.delivered++
	s.progressed()
	if of.change != one.change {
		s.enqueue(&s.deliveries.ordinary, one.uid, of)
		return
	}
	s.arrived(one.uid, of)
	if bound {
		delete(s.placed, one.uid)
	}
}

// fellThrough notes why a placement was not delivered and has it told again. It tells whether that is no reason to rest. It is called
// with the mutex.
func (s *sidecar) fellThrough(one delivery, of *waiting, outcome outcome) bool {
	d := &s.deliveries
	changed := of.change != one.change
	if outcome.own && !changed {
		of.reason = outcome.err
	}
	if outcome.refused {
		s.progressed()
	}
	if outcome.unanswered {
		// Where others came through meanwhile, it may be this one that fails its calls.
		of.alone = of.alone || of.isOverdue() || d.answered > of.answered
		of.answered = d.answered
	}
	switch {
	case of.isOverdue() && !changed:
		s.owe(one.uid, of)
	case of.isOverdue() || outcome.refused && changed:
		s.enqueue(&d.ordinary, one.uid, of)
	case outcome.refused:
		s.retry(outcome.err)
	default:
		s.enqueue(&d.ordinary, one.uid, of)
		s.restAfter(outcome.err)
		return false
	}
	return true
}

// progressed notes that the sidecar answers a placement. Whatever rests for want of an answer goes on. It is called with the mutex.
func (s *sidecar) progressed() {
	s.deliveries.answered++
	if s.deliveries.failures == 0 {
		return
	}
	s.deliveries.failures = 0
	select {
	case s.revived <- struct{}{}:
	default:
	}
}

// restAfter begins a rest of deliveries and holds questions back. It is called with the mutex.
func (s *sidecar) restAfter(reason error) {
	s.giveUp(reason)
	d := &s.deliveries
	if d.resting {
		return
	}
	d.resting = true
	d.size = max(d.size/2, 1)
	s.later(doubled(restMin, d.failures, restMax), func() { d.resting = false })
	d.failures++
}

// retry has placements that were refused told again after a while, and holds questions back. It is called with the mutex.
func (s *sidecar) retry(reason error) {
	s.giveUp(reason)
	d := &s.deliveries
	if d.retrying {
		return
	}
	d.retrying = true
	s.later(restMin, func() {
		d.retrying = false
		for uid, of := range d.waiting {
			if of.isStuck() {
				s.enqueue(&d.ordinary, uid, of)
			}
		}
	})
}

// later does something with the mutex after a while, and then delivers what waits, unless the client is closed.
func (s *sidecar) later(rest time.Duration, do func()) {
	time.AfterFunc(rest, func() {
		select {
		case <-s.client.Done():
			return
		default:
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		do()
		s.deliver()
	})
}
