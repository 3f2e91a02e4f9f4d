package plugin

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// errCatchingUp: the sidecar lacks more placements than a question can carry, and is told them beside the cycles.
var errCatchingUp = fmt.Errorf("%w, which it is being told", errPlacement)

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
			options, changes := s.ledger.unsent(stream)
			if len(changes) == 0 {
				// The question that found them missing was none about the sidecar.
				s.breaker.retry()
				return
			}
			outcome, err := s.change(changes, options)
			if err != nil {
				klog.V(4).InfoS("nodesift is not told its placements yet", "err", err)
				return
			}
			if allRefused(outcome.Assumed, outcome.Forgotten) {
				return
			}
			stream = outcome.Stream
		}
	}()
}

// change sends changes and waits for what becomes of them.
func (s *sidecar) change(changes []sending, options []nodesift.FeasibleOption) (nodesift.Changes, error) {
	type answer struct {
		outcome nodesift.Changes
		err     error
	}
	ctx, cancel := context.WithTimeout(context.Background(), catchUpTimeout)
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
		// The next question finds that the stream is not answered, and ends it.
		return nodesift.Changes{}, nodesift.ErrDeadline
	}
}
