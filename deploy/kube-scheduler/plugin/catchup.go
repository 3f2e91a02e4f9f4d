package plugin

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// errCatchingUp: the sidecar lacks more placements than a question can carry, and is told them beside the cycles.
var errCatchingUp = fmt.Errorf("%w, which it is being told", errPlacement)

// manyOwed tells whether the sidecar lacks more than a question can carry, and has it told that beside the cycles.
func (s *sidecar) manyOwed(stream uint64) bool {
	if s.catchingUp.Load() {
		return true
	}
	if s.ledger.owed(stream) <= int(s.riding.Load()) {
		return false
	}
	s.catchUp(stream)
	return true
}

// whyHeld is why no question is asked: what is being told, or that the sidecar has not answered when it was told before.
func (s *sidecar) whyHeld() error {
	if err := s.unanswered.Swap(nil); err != nil {
		return *err
	}
	return errCatchingUp
}

// rode notes what came of a question that took changes along. Where they take too long, or one of them fails it, fewer ride with the
// next, and in the end none.
func (s *sidecar) rode(changes int, err error) {
	riding := s.riding.Load()
	if err == nil {
		s.unanswered.Store(nil)
	}
	switch {
	case err == nil && changes > 0:
		s.riding.CompareAndSwap(riding, min(max(2*riding, 1), maxChangesWithQuestion))
	case err != nil && (changes > 0 || silent(err)):
		s.riding.CompareAndSwap(riding, riding/2)
	}
}

// catchUp tells the sidecar placements beside the cycles: those that were never sent or were refused, and, where a stream is given,
// those that were not taken in on it. They have a time of their own, because a question that takes some of them along and ends
// before they are taken in ends the stream too, on which the next would have to begin again.
func (s *sidecar) catchUp(stream uint64) {
	if !s.catchingUp.CompareAndSwap(false, true) {
		return
	}
	klog.InfoS("nodesift is told placements that it lacks", "placements", s.ledger.owed(stream))
	go func() {
		defer s.catchingUp.Store(false)
		for {
			options, changes := s.ledger.unsent(stream, s.batch)
			if len(changes) == 0 {
				// The question that found them missing was none about the sidecar.
				s.breaker.progressed()
				s.riding.CompareAndSwap(0, 1)
				return
			}
			outcome, err := s.change(changes, options)
			if err != nil {
				if s.failed(changes, err); len(changes) == 1 {
					// Whether the sidecar answers at all, the next question shows.
					return
				}
				continue
			}
			s.batch = min(2*s.batch, maxBatch)
			s.unanswered.Store(nil)
			s.breaker.progressed()
			if allRefused(outcome.Assumed, outcome.Forgotten) {
				return
			}
			stream = outcome.Stream
		}
	}()
}

// failed has fewer told at once, down to one, which is set aside where it fails alone.
func (s *sidecar) failed(changes []sending, err error) {
	klog.V(4).InfoS("nodesift is not told its placements yet", "changes", len(changes), "err", err)
	s.batch = max(s.batch/2, 1)
	s.ledger.halve(changes)
	if len(changes) == 1 {
		s.ledger.setAside(changes[0], err)
	}
	s.unanswered.Store(&err)
}

// change sends changes and waits for what becomes of them.
func (s *sidecar) change(changes []sending, options []nodesift.FeasibleOption) (nodesift.Changes, error) {
	type answer struct {
		outcome nodesift.Changes
		err     error
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	answered := make(chan answer, 1)
	s.stream.Change(ctx, func(outcome nodesift.Changes, err error) {
		s.ledger.settle(changes, outcome, err)
		answered <- answer{outcome, err}
	}, options...)
	select {
	case of := <-answered:
		return of.outcome, of.err
	case <-ctx.Done():
		s.endStream()
		return nodesift.Changes{}, nodesift.ErrDeadline
	}
}

// endStream ends a stream on which a request has no answer: what is asked behind it has none either, and ends the stream.
func (s *sidecar) endStream() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_, _ = s.stream.Feasible(ctx, nodesift.PodUID("none"))
}

// tellSetAside tells the sidecar again what it has not taken in, beside everything else: a call each, and not on the stream, where one
// without an answer would hold questions up. What is taken in then is told on the stream like any other.
func (s *sidecar) tellSetAside() {
	if !s.ledger.someAside() || !s.tellingSetAside.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.tellingSetAside.Store(false)
		for _, change := range s.ledger.asideNow() {
			s.ledger.told(change.sending, s.tellAlone(change.option))
		}
	}()
}

func (s *sidecar) tellAlone(change nodesift.ChangeOption) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	made, err := s.client.Place(ctx, change)
	switch {
	case err != nil:
		return err
	case len(made.Assumed) > 0:
		return made.Assumed[0].Err
	default:
		return made.Forgotten[0].Err
	}
}
