package yunikorn

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// deliveries are the pods of which the sidecar has yet to be told. They are delivered in the background, many in one call and those
// of one pod one after the other, whether questions are asked or not. All of it is guarded by the mutex of the sidecar.
type deliveries struct {
	waiting map[types.UID]*waiting
	// Those to be sent, the oldest first. An entry that is not queued any more is skipped.
	queue []types.UID
	// Numbers changes, so that the answer to one is not taken for that to a later one.
	changes uint64
	// Calls on their way, and how many in a row had no answer.
	calls, failures int
	// Placements of the next call: half as many after one without an answer, and twice as many after one that has answered all. So a
	// sidecar that is slow gets no more than it takes in, and one placement for which calls fail is told alone in the end.
	size int
	// Whether nothing is sent for a while after a call without an answer, or refused ones are queued again after a while.
	resting, retrying bool
	// Pods without which no question is asked: all but those that were refused for long.
	blocking  int
	delivered uint64
}

// waiting is a pod of which the sidecar has yet to be told.
type waiting struct {
	// Nil where it counts nowhere.
	at       *placement
	change   uint64
	since    time.Time
	queued   bool
	sent     bool
	blocking bool
	// Since when and why the sidecar refuses it.
	refusedSince time.Time
	refusal      error
}

// delivery is one change that is being sent.
type delivery struct {
	uid    types.UID
	at     *placement
	change uint64
}

// outcome is what became of a delivery.
type outcome struct {
	// The sidecar sees the pod bound or gone, and needs no placement of it.
	bound bool
	err   error
	// The error is an answer about this placement alone.
	refused bool
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
	of.at, of.change, of.refusedSince, of.refusal = s.placed[uid], d.changes, time.Time{}, nil
	s.enqueue(uid, of)
}

// enqueue is called with the mutex.
func (s *sidecar) enqueue(uid types.UID, of *waiting) {
	if !of.queued && !of.sent {
		of.queued = true
		s.deliveries.queue = append(s.deliveries.queue, uid)
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
		batch := s.take()
		if batch == nil {
			return
		}
		d.calls++
		go s.send(batch)
	}
}

// take is what the next call delivers: no pod twice, for one that is sent is not queued. It is called with the mutex.
func (s *sidecar) take() []delivery {
	d := &s.deliveries
	var batch []delivery
	for len(batch) < d.size && len(d.queue) > 0 {
		uid := d.queue[0]
		d.queue = d.queue[1:]
		if of := d.waiting[uid]; of != nil && of.queued {
			of.queued, of.sent = false, true
			batch = append(batch, delivery{uid, of.at, of.change})
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
			batch = s.take()
		}
		if batch == nil {
			s.deliveries.calls--
		}
		s.deliver()
		s.mutex.Unlock()
	}
}

// tell delivers placements in one call. Pods that the sidecar does not have are told once more, whole.
func tell(client *nodesift.Client, batch []delivery, ttl time.Duration) []outcome {
	of := &telling{client, nodesift.TimeToLive(ttl), batch, make([]outcome, len(batch))}
	byUID := make([]told, len(batch))
	for at, one := range batch {
		byUID[at] = told{at, nodesift.PodUID(string(one.uid))}
	}
	of.call(byUID)
	var whole []told
	size := 0
	for at, one := range batch {
		if !of.notFound(at) {
			continue
		}
		text, err := json.Marshal(one.at.pod)
		if err != nil {
			of.outcomes[at].err = err
			continue
		}
		if len(whole) > 0 && size+len(text) > wholeBytes {
			of.call(whole)
			whole, size = nil, 0
		}
		whole, size = append(whole, told{at, nodesift.PodJSON(text)}), size+len(text)
	}
	if len(whole) > 0 {
		of.call(whole)
	}
	for at, one := range batch {
		if !of.notFound(at) {
			continue
		}
		if _, known := client.Index().Names().Row(one.at.node); known {
			// A whole pod is refused only where the sidecar has seen its end.
			of.outcomes[at] = outcome{bound: true}
		}
	}
	return of.outcomes
}

// telling is a batch that is being told.
type telling struct {
	client   *nodesift.Client
	ttl      nodesift.AssumeOption
	batch    []delivery
	outcomes []outcome
}

// told is one of a batch, by its place there, and how its pod is named.
type told struct {
	at  int
	pod nodesift.Pod
}

// call is one call, in a time of its own.
func (t *telling) call(all []told) {
	changes := make([]nodesift.ChangeOption, len(all))
	for number, one := range all {
		if to := t.batch[one.at].at; to != nil {
			changes[number] = nodesift.AssumeFirst(one.pod, to.node, t.ttl)
		} else {
			changes[number] = nodesift.ForgetFirst(one.pod)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), deliveryTimeout)
	defer cancel()
	made, err := t.client.Place(ctx, changes...)
	for _, one := range all {
		next := outcome{err: err}
		switch {
		case err != nil:
		case t.batch[one.at].at != nil:
			next = outcome{bound: made.Assumed[0].Assumed.Placed == nodesift.PlacedAlreadyBound, err: made.Assumed[0].Err}
			made.Assumed = made.Assumed[1:]
		default:
			next.err, made.Forgotten = made.Forgotten[0].Err, made.Forgotten[1:]
		}
		// The error of a call is that of a placement only where it is the only one.
		next.refused = refusal(next.err) && (err == nil || len(all) == 1)
		t.outcomes[one.at] = next
	}
}

// notFound tells whether the sidecar lacks the pod or the node of a placement.
func (t *telling) notFound(at int) bool {
	outcome := t.outcomes[at]
	return t.batch[at].at != nil && outcome.refused && errors.Is(outcome.err, nodesift.ErrNotFound)
}

// refusal tells whether an error is an answer about a placement.
func refusal(err error) bool {
	return errors.Is(err, nodesift.ErrNotFound) || errors.Is(err, nodesift.ErrInvalid) ||
		errors.Is(err, nodesift.ErrDoesNotFit) || errors.Is(err, nodesift.ErrChanged)
}

// settle notes what became of a batch. It is called with the mutex.
func (s *sidecar) settle(batch []delivery, outcomes []outcome) {
	d := &s.deliveries
	answered := true
	for at, one := range batch {
		outcome, of := outcomes[at], d.waiting[one.uid]
		of.sent = false
		switch {
		case outcome.err == nil:
			d.delivered++
			s.progressed()
			if of.change != one.change {
				s.enqueue(one.uid, of)
				continue
			}
			s.arrived(one.uid, of)
			if outcome.bound {
				delete(s.placed, one.uid)
			}
		case outcome.refused:
			s.progressed()
			if of.change != one.change {
				s.enqueue(one.uid, of)
				continue
			}
			s.refuse(of, outcome.err)
		default:
			answered = false
			s.enqueue(one.uid, of)
			s.restAfter(outcome.err)
		}
	}
	if answered {
		d.size = min(2*d.size, perDelivery)
	}
}

// progressed notes that the sidecar takes placements in. Whatever rests for want of an answer goes on. It is called with the mutex.
func (s *sidecar) progressed() {
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

// refuse has a placement told again after a while, and tells how long questions wait for it. It is called with the mutex.
func (s *sidecar) refuse(of *waiting, reason error) {
	if of.refusedSince.IsZero() {
		of.refusedSince = time.Now()
	}
	of.refusal = reason
	if time.Since(of.refusedSince) >= refusalPatience {
		s.unblock(of)
	} else if of.blocking {
		s.giveUp(reason)
	}
	if s.deliveries.retrying {
		return
	}
	s.deliveries.retrying = true
	s.later(restMin, func() {
		s.deliveries.retrying = false
		for uid, of := range s.deliveries.waiting {
			if of.refusal != nil {
				s.enqueue(uid, of)
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
